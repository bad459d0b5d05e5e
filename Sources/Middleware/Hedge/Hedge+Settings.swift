import TurnpikeCore

extension Hedge {
    init(settings: Settings) {
        let part = settings.double("percentile", default: 0.95, in: 0.01...0.9999)
        let atLeast = settings.seconds("atLeast", default: .milliseconds(50), orZero: true)
        let fixed = settings.optionalSeconds("after", orZero: true)
        let delay = fixed.map { HedgeDelay.fixed($0) } ?? .percentile(part, atLeast: atLeast)
        self.init(
            after: delay,
            attempts: settings.int("attempts", default: 2, in: 1...12),
            budget: RetryBudget.shared(settings),
            latencies: settings.kept("latencies", for: true) { Latencies() })
    }
}
