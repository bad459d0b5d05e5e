import Foundation
import TurnpikeCore

extension Log {
    init(settings: Settings) throws {
        let level = settings.choice("level", default: Level.info)
        let redaction = Redaction.standard.adding(
            headers: settings.headerNames("redactHeaders").map(\.rawValue),
            query: settings.strings("redactQuery"))
        let path = settings.string("to") ?? "stderr"
        let sink: any LogSink
        if path == "stderr" || settings.isDryRun {
            sink = .standardError
        } else {
            do {
                sink = try settings.kept("sink", for: path) { try LineSink(appendingTo: path) }
            } catch {
                throw ClientError(.configuration, "the log file cannot be opened for writing")
            }
        }
        self.init(
            to: sink, level: level, format: settings.choice("format", default: .text),
            sampling: settings.double("sampling", default: 1, in: 0...1), redaction: redaction,
            peekBytes: settings.int("body", default: 0, in: 0...Self.maxPeekBytes))
    }
}
