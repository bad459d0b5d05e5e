import TurnpikeCore

extension ConcurrencyLimit {
    init(settings: Settings) {
        let bounds = [
            settings.int("total", default: 256, in: 1...1_000_000),
            settings.int("perOrigin", default: 64, in: 1...1_000_000),
            settings.int("queue", default: 0, in: 0...1_000_000),
        ]
        let adaptive = settings.object("adaptive").map { AdaptiveLimit(settings: $0) }
        let identity = bounds.map(Double.init) + (adaptive?.identity ?? [])
        let permits = settings.kept("permits", for: identity) {
            Permits(
                total: bounds[0], perOrigin: bounds[1], queue: bounds[2], adaptive: adaptive)
        }
        self.init(permits: permits)
    }
}

extension AdaptiveLimit {
    fileprivate init(settings: Settings) {
        self.init(
            initial: settings.optionalInt("initial", in: 1...1_000_000),
            min: settings.int("min", default: 1, in: 1...1_000_000),
            decrease: settings.double("decrease", default: 0.5, in: 0...0.99),
            pause: settings.seconds("pause", default: .seconds(1), orZero: true))
        settings.finish()
    }

    // What tells one rule of a file from another.
    fileprivate var identity: [Double] {
        [Double(initial ?? 0), Double(min), decrease, pause.inSeconds]
    }
}
