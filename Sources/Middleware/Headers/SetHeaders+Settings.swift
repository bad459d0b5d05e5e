import TurnpikeCore

extension SetHeaders {
    init(settings: Settings) {
        self.init(
            settings.headers("set"), adding: settings.headers("add"),
            origins: settings.secretOrigins())
    }
}
