import TurnpikeCore

extension CircuitBreaker {
    init(settings: Settings) {
        let window = settings.seconds("window", default: .seconds(30))
        let rules = Circuit.Rules(
            failureRatio: settings.double("failureRatio", default: 0.5, in: 0.01...1),
            minimum: settings.int("minimum", default: 20, in: 1...1_000_000),
            open: settings.seconds("open", default: .seconds(15)),
            maxOpen: settings.seconds("maxOpen", default: .seconds(120)),
            probes: settings.int("probes", default: 3, in: 1...10_000))
        // Whatever the rules: a circuit that is open stays so.
        let meter = settings.meter()
        let circuits = settings.kept(
            "circuits", for: true,
            updating: {
                $0.update(rules, window: window)
                $0.tell(meter)
            },
            { Circuits(rules, window: window, meter: meter) })
        self.init(circuits: circuits, judge: CircuitVerdict.standard)
    }
}
