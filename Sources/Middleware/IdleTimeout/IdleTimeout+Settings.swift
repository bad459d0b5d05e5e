import TurnpikeCore

extension IdleTimeout {
    init(settings: Settings) {
        self.init(
            settings.seconds("seconds", default: .seconds(30)),
            minBytesPerSecond: settings.int(
                "minBytesPerSecond", default: 0, in: 0...1_000_000_000_000),
            window: settings.seconds("window", default: .seconds(10)))
    }
}
