// SPDX-License-Identifier: Apache-2.0

public import Tracing
public import TurnpikeEssentials
public import TurnpikeStackFiles

/// Creates spans of swift-distributed-tracing for the call and for each request of the call.
///
/// The gate is a group. The group puts its parts around and inside the traced gates. Therefore no
/// part can be in the wrong position:
///
/// ```swift
/// let client = Client(transport: transport, stack: [
///     .tracing([.deadline(.seconds(30)), .redirect(), .retry(attempts: 3), .attemptTimeout()])
/// ])
/// ```
///
/// - The span of the call has the kind `internal`. The parent of this span is the
///   `ServiceContext.current` at the beginning of the call. The events of this span are back-offs,
///   redirects and notes of gates.
/// - Each sent attempt, hedge, hop and replay has a span of the kind `client`. The tracer's
///   propagator injects the context of the span into the request. If a redirect leads to another
///   origin, only `traceparent` and `tracestate` are sent, without baggage, as W3C Trace Context
///   requires.
/// - A span ends with the response body, which was read, dropped, cancelled or broken off, in the
///   same task.
///
/// Inside the gate, `ServiceContext.current` is the context of the span. Spans of inner gates, and
/// of clients that gates use, therefore become children of this span.
///
/// The attributes follow OpenTelemetry's semantic conventions for HTTP clients. URLs and messages
/// are redacted.
public struct Tracing: GateGroup {
    /// The gates, the outermost first, including those that create the spans.
    public let gates: [any Gate]

    /// Creates a gate that traces the requests through a stack.
    /// - Parameters:
    ///   - stack: The gates inside the span of the call.
    ///   - tracer: Creates the spans. With nil, each call uses the tracer of
    ///     `InstrumentationSystem`, and all bootstrapped instruments inject their fields.
    ///   - redaction: The rules for hiding secrets.
    public init(
        _ stack: Stack, tracer: (any Tracer)? = nil, redaction: Redaction = .standard
    ) {
        let spans = SpanMaker(tracer: tracer, redaction: redaction)
        gates = CallSpans(spans: spans).gates + stack.gates + [AttemptSpan(spans: spans)]
    }

    /// Creates a gate that traces the requests through the gates of a builder; see
    /// ``init(_:tracer:redaction:)``.
    public init(
        tracer: (any Tracer)? = nil, redaction: Redaction = .standard,
        @StackBuilder _ gates: () -> [any Gate]
    ) {
        self.init(Stack(gates()), tracer: tracer, redaction: redaction)
    }

    /// Reports that the gate traces the inner gates.
    public func facts(for request: Request?) -> GateFacts? { GateFacts("traces its gates") }

    /// The options of all gates of the group, because the gates of the group always apply.
    public var handledOptions: [any RequestOptionKey.Type] { gates.flatMap(\.handledOptions) }

    /// Runs an operation whose calls create no spans and send no context.
    ///
    /// The exporter of a tracer uses this method for its own calls. If an exporter did not use this
    /// method, each export would create spans that are exported too. Tasks that the operation
    /// starts create no spans either. Detached tasks, such as the refresh of a token by
    /// `BearerTokens`, still create spans.
    /// - Parameters:
    ///   - isolation: The isolation of the caller.
    ///   - operation: The operation.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public static func suppressed<Value>(
        isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Value
    ) async rethrows -> Value {
        var context = ServiceContext.current ?? .topLevel
        context[Suppression.self] = true
        return try await ServiceContext.withValue(
            context, isolation: isolation, operation: operation)
    }
}

extension Gate where Self == Tracing {
    /// Traces the requests through a stack; see ``Tracing/init(_:tracer:redaction:)``.
    public static func tracing(
        _ stack: Stack, tracer: (any Tracer)? = nil, redaction: Redaction = .standard
    ) -> Self {
        Tracing(stack, tracer: tracer, redaction: redaction)
    }
}

/// The option with the template of a call's URL, which names the call's spans.
public enum URLTemplate: RequestOptionKey {
    /// The template, such as `/users/{id}`.
    public typealias Value = String
}

extension Call {
    /// Names the spans of this call after a template of the call's URL (`url.template`).
    ///
    /// With a template, a span is named `GET /users/{id}` instead of `GET`. Do not pass a text with
    /// IDs, because each ID would create a new name, and few tracing systems accept so many names.
    public func urlTemplate(_ template: String) -> Call { option(URLTemplate.self, template) }
}

extension Registry {
    /// Adds the gate `tracing` to the names of stack files.
    ///
    /// A stack file has only one list of gates. The list contains this gate twice, `{"use":
    /// "tracing"}` as the first and `{"use": "tracing", "spans": "attempts"}` as the last. The
    /// linter reports an entry in the wrong position. The tracer is the tracer of
    /// `InstrumentationSystem`.
    public mutating func registerTracing() {
        register(
            gate: "tracing",
            description: PartDescription(
                """
                Makes spans of swift-distributed-tracing. Place the gate outermost for the span of \
                the call, and once more as the last gate, with `"spans": "attempts"`, for the \
                requests that are sent.
                """,
                settings: ["spans": "Whether the call has a span, or each request that is sent."],
                example: #"{"use": "tracing", "spans": "call"}"#)
        ) { settings -> any Gate in
            let spans = SpanMaker(tracer: nil, redaction: .standard)
            return switch settings.choice("spans", default: TracedPart.call) {
            case .call: CallSpans(spans: spans)
            case .attempts: AttemptSpan(spans: spans)
            }
        }
    }
}

/// The subject of a span, which is the call or one request.
private enum TracedPart: String, CaseIterable {
    case call
    case attempts
}
