import TurnpikeCore

extension DigestAuthentication {
    init(settings: Settings) {
        self.init(
            user: settings.required("user"), password: settings.required("password"),
            origins: settings.credentialOrigins())
    }
}
