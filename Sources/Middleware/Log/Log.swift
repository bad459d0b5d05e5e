import Foundation
public import TurnpikeCore

/// Writes what happens to a sink, a line for each pass and for each thing that deviates.
///
/// Outermost it tells of calls, with their retries and redirects; inside a retry of attempts.
/// Secrets are redacted before they reach it (``/TurnpikeCore/Redaction/standard``); more names can
/// be given, fewer cannot.
public struct Log: RequestLogger {
    /// How much is written.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        /// One line for each pass, and for each retry, redirect and note.
        case info
        /// Also each send, and the header fields.
        case debug
    }

    private let sink: any LogSink
    private let level: Level
    private let redaction: Redaction

    /// How many bytes of contents are shown.
    public let peekBytes: Int

    /// Creates a log.
    /// - Parameters:
    ///   - sink: Where the lines go.
    ///   - level: How much is written.
    ///   - redaction: What is hidden.
    ///   - peekBytes: How many bytes of contents are shown: of a response's as the reader pulls
    ///     them.
    public init(
        to sink: any LogSink, level: Level = .info, redaction: Redaction = .standard,
        peekBytes: Int = 0
    ) {
        self.sink = sink
        self.level = level
        self.redaction = redaction
        self.peekBytes = peekBytes
    }

    /// Writes an event.
    public func log(_ event: CallEvent) {
        guard let text = text(of: event) else { return }
        let time = event.date.formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(
                separator: .omitted))
        sink.write("\(time) \(event.id) \(text)")
    }

    /// Writes what still waits.
    public func shutdown() async { await sink.flush() }

    private func text(of event: CallEvent) -> String? {
        let isVerbose = level == .debug
        let target = event.request(redaction: redaction).map { "\($0)" } ?? ""
        let status = event.status.map { "\($0)" } ?? ""
        switch event.kind {
        case .began: return isVerbose ? "> \(target)" : nil
        case .sent:
            guard isVerbose else { return nil }
            let headers = event.request(redaction: redaction)?.headers
            let content = event.requestContent(upTo: peekBytes, redaction: redaction)
            return
                "  attempt \(event.attempt): \(target)\(Self.block(headers))\(Self.show(content))"
        case .received:
            guard isVerbose else { return nil }
            let headers = event.responseHeaders(redaction: redaction)
            return "  attempt \(event.attempt): \(status)\(Self.block(headers))"
        case .retrying(let delay, let attempt):
            let why = event.errorType ?? status
            return
                "  attempt \(attempt) in \(Self.milliseconds(delay)), because of \(why): \(target)"
        case .redirecting: return "  \(status) leads to \(target)"
        case .note(let gate, let message): return "  \(gate): \(message)"
        case .responded: return isVerbose ? "< \(status) \(target)" : nil
        case .failed:
            if event.isCancellation { return "x cancelled after \(elapsed(event)): \(target)" }
            return "! \(event.errorDescription ?? "") after \(elapsed(event)): \(target)"
        case .bodyEnded(let end):
            let how =
                switch end.reason {
                case .finished: ""
                case .cancelled: ", cancelled"
                case .dropped: ", not read to its end"
                case .failed: ", broken off: \(event.errorDescription ?? "")"
                }
            let content = Self.show(event.responseContent(redaction: redaction))
            return
                "< \(status), \(end.bytes) bytes\(how), after \(elapsed(event)): \(target)\(content)"
        }
    }

    private func elapsed(_ event: CallEvent) -> String { Self.milliseconds(event.elapsed) }

    private static func block(_ headers: HTTPHeaders?) -> String {
        guard let headers, !headers.isEmpty else { return "" }
        return headers.map { " | \($0.name): \($0.value)" }.joined()
    }

    private static func show(_ content: String?) -> String {
        content.map { $0.isEmpty ? "" : " | \($0)" } ?? ""
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let tenths = (duration.inSeconds * 10_000).rounded() / 10
        return "\(tenths) ms"
    }
}

extension Gate where Self == Log {
    /// Writes what happens; see ``Log/init(to:level:redaction:peekBytes:)``.
    public static func log(
        to sink: any LogSink, level: Log.Level = .info, redaction: Redaction = .standard,
        peekBytes: Int = 0
    ) -> Self {
        Log(to: sink, level: level, redaction: redaction, peekBytes: peekBytes)
    }
}
