import Foundation
public import TurnpikeCore

extension CompressBodies {
    init(settings: Settings) {
        let coding: Coding = settings.choice("coding", default: .gzip)
        self.init(
            coding, level: settings.int("level", default: 6, in: 1...9),
            minimum: Int64(settings.int("minimum", default: 1024, in: 0...Int.max)))
    }
}

extension Registry {
    /// Adds the gates of this module under the names of stack files.
    public mutating func registerSerializers() {
        register(gate: "compressBodies") { CompressBodies(settings: $0) }
    }
}
