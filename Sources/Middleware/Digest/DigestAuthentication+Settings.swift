import TurnpikeCore

extension DigestAuthentication {
    init(settings: Settings) {
        let user = settings.required("user")
        let password = settings.required("password")
        if let fault = Settings.defect(.authorization, user) {
            settings.issue(at: "user", "cannot be sent: \(fault)")
        }
        let identity = [Secret(user), Secret(password)]
        self.init(
            user: user, password: password, scope: settings.credentialScope(),
            sessions: settings.kept("sessions", for: identity) { DigestSessions() })
    }
}
