import TurnpikeCore

extension BasicAuthentication {
    init(settings: Settings) {
        let user = settings.required("user")
        let password = settings.required("password")
        if let fault = Self.fault(user: user, password: password) {
            settings.issue(at: fault.contains("password") ? "password" : "user", fault)
        }
        self.init(user: user, password: password, scope: settings.credentialScope())
    }
}
