// SPDX-License-Identifier: Apache-2.0

public import Logging
public import TurnpikeEssentials

/// Logs requests with swift-log, as structured metadata.
///
/// The names of the attributes come from OpenTelemetry's semantic conventions.
///
/// `LoggerSink` is a gate for the same positions in a stack as `Log`. The outermost gate logs calls
/// with retries and redirects. Inside a retry, the gate logs attempts. The messages are constant
/// (`HTTP request completed`), and all values are metadata.
///
/// ```swift
/// let client = Client(baseURL: "https://api.example.com/", stack: [
///     .log(to: LoggerSink()), .deadline(.seconds(30)), .validate(), .retry(),
/// ])
/// try await withLogger(mergingMetadata: ["request.id": "\(id)"]) { _ in
///     let user = try await client.get("users/1").decode(User.self)  // logged with request.id
/// }
/// ```
///
/// At the arrival of a request, the gate chooses the logger in the caller's task, and calls the
/// metadata provider once. All events of the request have this logger and this metadata, even if
/// the body ends in another task. If an event and the logger have the same key, the event's value
/// is logged.
///
/// A `MultiplexLogHandler`, and a handler that is a class, call their providers again for each
/// event. If the providers return the same metadata as in the caller's task, the event adds no
/// metadata. If not, the event contains the metadata of the caller's providers. Keys that only the
/// current task has are also logged. Each child of a multiplexer gets the metadata of all
/// children's providers.
///
/// Secrets are hidden by the rules of `Log` (`Redaction.standard`). More names of secrets can be
/// added. The length of each value is limited. Contents of bodies are never logged.
public struct LoggerSink: RequestLogger {
    private let logger: Logger?
    private let rules: EventRules

    /// Creates a gate that logs to a logger.
    /// - Parameters:
    ///   - logger: The logger, or nil for the caller's `Logger.current`.
    ///   - fields: The header fields of requests and responses to log, as
    ///     `http.request.header.<name>` and `http.response.header.<name>`. The default is no field,
    ///     as the conventions require. Fields with secrets show `REDACTED`.
    ///   - redaction: The rules for hiding secrets.
    ///   - level: Returns the level of an event, or nil for no log entry. The closure runs for each
    ///     event and must be fast. The default is ``level(of:)``.
    public init(
        _ logger: Logger? = nil, fields: [HTTPHeaders.Name] = [],
        redaction: Redaction = .standard,
        level: @escaping @Sendable (CallEvent) -> Logger.Level? = { LoggerSink.level(of: $0) }
    ) {
        self.logger = logger
        rules = EventRules(fields: fields, redaction: redaction, level: level)
    }

    /// Returns the level of an event by its outcome.
    ///
    /// | event | level |
    /// |---|---|
    /// | the pass fails for another reason, its body breaks off, or its status is 500 or above | error |
    /// | its status is 400 to 499, also if `Validate` rejects it | warning |
    /// | it ends in another way, such as cancellation or a dropped body; a retry, a redirect, a note of a gate | info |
    /// | a request is sent, a response is received | debug |
    /// | a request reaches the gate, a response leaves it | trace |
    public static func level(of event: CallEvent) -> Logger.Level {
        switch event.kind {
        case .began, .responded: return .trace
        case .sent, .received: return .debug
        case .retrying, .redirecting, .note: return .info
        case .failed:
            if event.isCancellation { return .info }
            // A status has the same level whether a gate rejects or accepts the status.
            let isRejection = event.errorType == ClientError.Code.validation.rawValue
            return isRejection && hasClientError(event) ? .warning : .error
        case .bodyEnded(let end):
            if case .failed = end.reason { return .error }
            if hasClientError(event) { return .warning }
            return (event.status?.code ?? 0) >= 500 ? .error : .info
        }
    }

    private static func hasClientError(_ event: CallEvent) -> Bool {
        400..<500 ~= event.status?.code ?? 0
    }

    /// Logs an event outside of a request, with the logger and the provider of the current task.
    public func log(_ event: CallEvent) { passLogger().log(event) }

    /// Returns a logger with the caller's logger and the metadata of the caller's provider.
    public func loggerForPass() -> (any RequestLogger)? { passLogger() }

    /// Reports that the gate logs events, but no contents.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts("logs events with swift-log", .logs(content: 0))
    }

    private func passLogger() -> PassLogger {
        var logger = self.logger ?? Logger.current
        guard let provider = logger.metadataProvider else {
            return PassLogger(logger: logger, provided: [:], rules: rules)
        }
        let provided = provider.get()
        // Removes the provider, which would later return the metadata of the task in which the body
        // ends. A multiplexer keeps the providers of its children, and a class keeps the provider
        // because the object is shared. In this case, the event's metadata overrides the metadata
        // of these providers.
        let handler = logger.handler
        if !(handler is MultiplexLogHandler), !(type(of: handler) is AnyClass) {
            logger.handler.metadataProvider = nil
        }
        return PassLogger(logger: logger, provided: provided, rules: rules)
    }
}

extension Gate where Self == LoggerSink {
    /// Logs requests with swift-log; see ``LoggerSink/init(_:fields:redaction:level:)``.
    public static func log(to sink: LoggerSink) -> Self { sink }
}
