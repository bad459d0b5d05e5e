import TurnpikeCore

extension RateLimit {
    init(settings: Settings) {
        let perSecond = settings.optionalDouble("perSecond", in: 0.000_01...1_000_000_000)
        if perSecond == nil, settings.value("perSecond") == nil {
            settings.issue(at: "perSecond", "is missing; a number of requests a second is wanted")
        }
        let rate = TokenBucket.Rate(
            perSecond: perSecond ?? 1,
            burst: settings.int("burst", default: 1, in: 1...1_000_000))
        let queue = settings.int("queue", default: 1000, in: 0...1_000_000)
        // With another rate it begins anew: what was taken at the old one would hold back a rate
        // that was raised for as long as the old one lasts.
        let meter = settings.meter()
        let buckets = settings.kept(
            "buckets", for: rate,
            updating: {
                $0.update(queue: queue)
                $0.figures.move(to: meter)
            },
            { Buckets(rate: rate, queue: queue, meter: meter) })
        self.init(buckets: buckets, scope: settings.choice("scope", default: .origin))
    }
}
