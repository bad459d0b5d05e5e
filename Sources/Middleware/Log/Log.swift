public import TurnpikeCore

/// Writes what happens to a sink, a line for each pass and for each thing that deviates.
///
/// Outermost it tells of calls, with their retries and redirects; inside a retry of attempts. A
/// stack may have both. Secrets are redacted before they reach it
/// (``/TurnpikeCore/Redaction/standard``); more names can be given, fewer cannot. Lines are bounded
/// and hold no control character, whatever a peer sends.
///
/// ```swift
/// .log(to: .standardError, level: .info, format: .json, sampling: 0.01)
/// ```
public struct Log: RequestLogger {
    /// How much is written.
    public enum Level: String, Sendable, Hashable, CaseIterable, Comparable {
        /// One line for each pass that failed, broke off, or got a status from 400 on.
        case error
        /// One line for each pass, and for each retry, redirect and note.
        case info
        /// Also each send, and the header fields.
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

    /// What a line looks like.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// For people.
        case text
        /// One JSON object a line, for machines; durations are in seconds.
        case json
    }

    private let sink: any LogSink
    private let level: Level
    private let format: Format
    private let sampling: Double
    private let redaction: Redaction

    /// The most bytes of contents that a log shows: it tells what a body is, and keeps no copy.
    public static let maxPeekBytes = 4096

    /// How many bytes of contents are shown.
    public let peekBytes: Int

    /// Creates a log.
    /// - Parameters:
    ///   - sink: Where the lines go.
    ///   - level: How much is written.
    ///   - format: What a line looks like.
    ///   - sampling: What part of the calls is written, from 0 to 1, by the call's chance; of the
    ///     others the failures are all the same.
    ///   - redaction: What is hidden.
    ///   - peekBytes: How many bytes of contents are shown: of a request's where they are in memory,
    ///     at level debug; of a response's as the reader pulls them, when the body ends. At most
    ///     ``maxPeekBytes``.
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

    /// Writes what still waits.
    public func shutdown() async { await sink.flush() }
}

extension Gate where Self == Log {
    /// Writes what happens; see ``Log/init(to:level:format:sampling:redaction:peekBytes:)``.
    public static func log(
        to sink: any LogSink, level: Log.Level = .info, format: Log.Format = .text,
        sampling: Double = 1, redaction: Redaction = .standard, peekBytes: Int = 0
    ) -> Self {
        Log(
            to: sink, level: level, format: format, sampling: sampling, redaction: redaction,
            peekBytes: peekBytes)
    }
}
