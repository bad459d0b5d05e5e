import TurnpikeCore

extension Metrics {
    init(settings: Settings, files: MetricsFiles) {
        self.init(settings.metricsOutput(settings.string("to") ?? "stderr", files))
    }
}
