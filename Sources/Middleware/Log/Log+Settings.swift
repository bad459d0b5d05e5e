import Foundation
import TurnpikeCore

extension Log {
    init(settings: Settings) {
        let level = settings.choice("level", default: Level.info)
        let redaction = Redaction.standard.adding(
            headers: settings.headerNames("redactHeaders").map(\.rawValue),
            query: settings.strings("redactQuery"))
        let path = settings.string("to") ?? "stderr"
        var sink: any LogSink = .standardError
        if path != "stderr", !settings.isDryRun {
            do {
                sink = try settings.kept("sink", for: path) { try LineSink(appendingTo: path) }
            } catch {
                settings.issue(at: "to", "the file cannot be opened for writing")
            }
        }
        self.init(
            to: sink, level: level, format: settings.choice("format", default: .text),
            sampling: settings.double("sampling", default: 1, in: 0...1), redaction: redaction,
            peekBytes: settings.int("body", default: 0, in: 0...Self.maxPeekBytes))
    }
}
