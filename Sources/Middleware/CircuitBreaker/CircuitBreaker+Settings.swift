import TurnpikeCore

extension CircuitBreaker {
    init(settings: Settings) {
        let window = settings.seconds("window", default: .seconds(30))
        self.init(
            circuits: settings.kept("circuits", for: window) { Circuits(window: window) },
            rules: Circuit.Rules(
                failureRatio: settings.double("failureRatio", default: 0.5, in: 0.01...1),
                minimum: settings.int("minimum", default: 20, in: 1...1_000_000),
                open: settings.seconds("open", default: .seconds(15)),
                maxOpen: settings.seconds("maxOpen", default: .seconds(120)),
                probes: settings.int("probes", default: 3, in: 1...10_000)),
            judge: CircuitVerdict.standard)
    }
}
