import TurnpikeCore

extension Metrics {
    init(settings: Settings) {
        self.init(settings.metricsOutput(settings.string("to") ?? "stderr"))
    }
}
