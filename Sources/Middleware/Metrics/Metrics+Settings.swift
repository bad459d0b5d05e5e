import TurnpikeCore

extension Metrics {
    init(settings: Settings) {
        self.init(settings.metricsOutput("to", default: "stderr"))
    }
}
