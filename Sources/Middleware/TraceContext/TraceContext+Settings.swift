import TurnpikeCore

extension TraceContext {
    init(settings: Settings) {
        self.init(sampling: settings.double("sampling", default: 1, in: 0...1))
    }
}
