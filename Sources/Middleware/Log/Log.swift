// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Logs each pass of a request through the gate, and each retry, redirect and note.
///
/// Placed outermost, it logs calls, with their retries and redirects. Placed inside a retry, it
/// logs attempts. A stack may have both. Secrets are redacted before they reach the sink
/// (``/TurnpikeCore/Redaction/standard``); you can add names to redact, but not remove any.
/// Whatever a peer sends, the length of a line is bounded, and a line holds no control character.
///
/// ```swift
/// .log(to: .standardError, level: .info, format: .json, sampling: 0.01)
/// ```
public struct Log: RequestLogger {
    /// The amount of logged events.
    public enum Level: String, Sendable, Hashable, CaseIterable, Comparable {
        /// One line for each pass that failed, whose body broke off, or whose status is at least
        /// 400.
        case error
        /// One line for each pass, and for each retry, redirect and note.
        case info
        /// In addition, each step of a pass, and the header fields.
        case debug

        /// Whether one level writes less than another.
        public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .error: 0
            case .info: 1
            case .debug: 2
            }
        }
    }

    /// The format of a line.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// Text lines for people.
        case text
        /// One JSON object per line, for machines; durations are in seconds.
        case json
    }

    private let sink: any LogSink
    private let level: Level
    private let format: Format
    private let sampling: Double
    private let redaction: Redaction

    /// The most bytes of content that a log shows: enough to recognize a body, not to copy it.
    static let maxPeekBytes = 4096

    /// How many bytes of content are shown.
    public let peekBytes: Int

    /// Creates a log.
    /// - Parameters:
    ///   - sink: The destination of the lines.
    ///   - level: The amount of detail.
    ///   - format: The format of a line.
    ///   - sampling: The share of calls that are logged, from 0 to 1. Failures of other calls are
    ///     logged too.
    ///   - redaction: The rules for hiding secrets.
    ///   - peekBytes: How many bytes of content are shown, at most 4,096. The content of
    ///     a request is shown at level debug, if it is in memory. The content of a response is
    ///     shown when its body ends, as far as it was read.
    public init(
        to sink: any LogSink, level: Level = .info, format: Format = .text, sampling: Double = 1,
        redaction: Redaction = .standard, peekBytes: Int = 0
    ) {
        self.sink = sink
        self.level = level
        self.format = format
        self.sampling = sampling
        self.redaction = redaction
        self.peekBytes = min(max(peekBytes, 0), Self.maxPeekBytes)
    }

    /// Writes an event.
    public func log(_ event: CallEvent) {
        let isWritten =
            LogRecord.level(of: event) == .error || sampling >= 1 || event.share < sampling
        guard isWritten,
            let record = LogRecord(
                event, level: level, redaction: redaction, peekBytes: peekBytes)
        else { return }
        sink.write(record.line(format))
    }

    /// States that the gate writes lines, and how much content it logs.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            peekBytes > 0
                ? "writes lines, with up to \(ByteCount.text(Int64(peekBytes))) of contents"
                : "writes lines", .logs(content: peekBytes),
            .holdsMemory(atMost: Int64(peekBytes)))
    }

    /// Writes the queued lines.
    public func shutdown() async { await sink.flush() }
}

extension Gate where Self == Log {
    /// Logs passes of requests; see ``Log/init(to:level:format:sampling:redaction:peekBytes:)``.
    public static func log(
        to sink: any LogSink, level: Log.Level = .info, format: Log.Format = .text,
        sampling: Double = 1, redaction: Redaction = .standard, peekBytes: Int = 0
    ) -> Self {
        Log(
            to: sink, level: level, format: format, sampling: sampling, redaction: redaction,
            peekBytes: peekBytes)
    }
}
