import TurnpikeCore

extension Coalesce {
    init(settings: Settings) {
        self.init(maxBody: settings.int("maxBody", default: 1_048_576, in: 0...1_073_741_824))
    }
}
