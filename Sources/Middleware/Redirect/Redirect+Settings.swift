import TurnpikeCore

extension Redirect {
    init(settings: Settings) {
        self.init(
            limit: settings.int("limit", default: 10, in: 0...100),
            allowDowngrade: settings.bool("allowDowngrade", default: false),
            sensitiveHeaders: settings.headerNames("sensitiveHeaders"))
    }
}
