import TurnpikeCore

extension DigestAuthentication {
    init(settings: Settings) {
        let user = settings.required("user")
        let password = settings.required("password")
        let identity = [Secret(user), Secret(password)]
        self.init(
            user: user, password: password, scope: settings.credentialScope(),
            sessions: settings.kept("sessions", for: identity) { DigestSessions() })
    }
}
