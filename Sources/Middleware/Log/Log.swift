// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Logs each request that passes through the gate, and each retry, redirect and message of an inner
/// gate.
///
/// If the gate is outermost, the gate logs calls, with their retries and redirects. If the gate is
/// inside a retry gate, the gate logs attempts. A stack may have a gate in both places. The gate
/// redacts secrets before a line reaches the sink (``/TurnpikeCore/Redaction/standard``). Code can
/// add names of secrets to the rules, but cannot remove names. The length of a line is bounded, and
/// a line contains no control character.
///
/// ```swift
/// .log(to: .standardError, level: .info, format: .json, sampling: 0.01)
/// ```
public struct Log: RequestLogger {
    /// Which events the log contains.
    public enum Level: String, Sendable, Hashable, CaseIterable, Comparable {
        /// One line for each request that failed, whose body broke off, or whose status is at least
        /// 400.
        case error
        /// One line for each request, retry, redirect and message of a gate.
        case info
        /// Also one line for each event of a request, with the header fields.
        case debug

        /// Whether the left level writes fewer lines than the right level.
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
        /// Lines of text for people.
        case text
        /// One JSON object per line, for programs. Durations are in seconds.
        case json
    }

    private let sink: any LogSink
    private let level: Level
    private let format: Format
    private let sampling: Double
    private let redaction: Redaction

    /// The log shows enough content to recognize a body, but not enough to copy the body.
    static let maxPeekBytes = 4096

    /// The maximum number of bytes of one body that the log shows.
    public let peekBytes: Int

    /// Creates a log.
    /// - Parameters:
    ///   - sink: The destination of the lines.
    ///   - level: The amount of logged events.
    ///   - format: The format of a line.
    ///   - sampling: The share of calls that are logged, from 0 to 1. The gate also logs failures
    ///     of calls that are not sampled.
    ///   - redaction: The rules for hiding secrets.
    ///   - peekBytes: The maximum number of bytes of one body that the log shows, at
    ///     most 4,096. At level debug, the log shows the content of a request if the content is in
    ///     memory. When the body of a response ends, the log shows the content that the caller has
    ///     read.
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

    /// States that the gate writes lines, and how much content the gate logs.
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
    /// Logs requests; see ``Log/init(to:level:format:sampling:redaction:peekBytes:)``.
    public static func log(
        to sink: any LogSink, level: Log.Level = .info, format: Log.Format = .text,
        sampling: Double = 1, redaction: Redaction = .standard, peekBytes: Int = 0
    ) -> Self {
        Log(
            to: sink, level: level, format: format, sampling: sampling, redaction: redaction,
            peekBytes: peekBytes)
    }
}
