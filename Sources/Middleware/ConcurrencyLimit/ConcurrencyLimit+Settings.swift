import TurnpikeCore

extension ConcurrencyLimit {
    init(settings: Settings) {
        let rules = Permits.Rules(
            total: settings.int("total", default: 256, in: 1...1_000_000),
            perOrigin: settings.int("perOrigin", default: 64, in: 1...1_000_000),
            queue: settings.int("queue", default: 0, in: 0...1_000_000),
            adaptive: settings.object("adaptive").map { AdaptiveLimit(settings: $0) })
        // Whatever the rules: the calls that hold permits are under way.
        let meter = settings.meter()
        let permits = settings.kept(
            "permits", for: true,
            updating: {
                $0.update(rules)
                $0.figures.move(to: meter)
            },
            { Permits(rules, meter: meter) })
        self.init(permits: permits)
    }
}

extension AdaptiveLimit {
    fileprivate init(settings: Settings) {
        let standard = AdaptiveLimit()
        self.init(
            initial: settings.optionalInt("initial", in: 1...1_000_000) ?? standard.initial,
            min: settings.int("min", default: standard.min, in: 1...1_000_000),
            decrease: settings.double("decrease", default: standard.decrease, in: 0...0.99),
            pause: settings.seconds("pause", default: standard.pause, orZero: true))
        settings.finish()
    }
}
