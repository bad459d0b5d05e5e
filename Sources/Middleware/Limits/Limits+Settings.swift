package import TurnpikeCore

extension Limits {
    init(settings: TurnpikeCore.Settings) { self.init(Settings(settings)) }
}

extension Limits.Settings {
    /// Creates bounds from the settings of a stack file, or of one call.
    package init(_ settings: TurnpikeCore.Settings) {
        self.init(
            body: settings.optionalInt("body", in: 0...Int.max),
            headers: settings.int("headers", default: 262_144, in: 0...Int.max),
            headerCount: settings.int("headerCount", default: 1000, in: 0...Int.max),
            ratio: settings.int("ratio", default: 100, in: 1...1_000_000),
            codings: settings.int("codings", default: 2, in: 1...100),
            line: settings.int("line", default: 1_048_576, in: 1...Int.max))
    }
}
