// SPDX-License-Identifier: Apache-2.0

public import Tracing
public import TurnpikeEssentials

/// Makes spans of swift-distributed-tracing for calls: one for the call, and one for each request
/// that is sent for it.
///
/// The gate is a group. It takes the traced gates, and puts its own parts around and inside them,
/// so that no part can stand in the wrong place:
///
/// ```swift
/// let client = Client(transport: transport, stack: [
///     .tracing([.deadline(.seconds(30)), .redirect(), .retry(attempts: 3), .attemptTimeout()])
/// ])
/// ```
///
/// - The span of the call has the kind `internal`. Its parent is `ServiceContext.current` where the
///   call begins. Its events are the back-offs, the redirects and the notes of gates.
/// - Each request that is sent has a span of the kind `client`: each attempt of a retry, each
///   copy of a hedge, each hop of a redirect, each replay. Its context is injected into that
///   request by the tracer's own propagator. If a redirect leads to another origin, only
///   `traceparent` and `tracestate` go there, which W3C Trace Context asks for, and no baggage.
/// - A span ends with the body of its response, in the task in which the body ends: when it was
///   read, dropped, cancelled, or broken off.
///
/// `ServiceContext.current` is the context of the span for everything inside, so the spans of other
/// gates, and of the clients that gates use, become its children.
///
/// The attributes are those of OpenTelemetry's semantic conventions for HTTP clients. URLs and
/// messages are redacted.
public struct Tracing: GateGroup {
    /// The gates, outermost first, with those that make the spans.
    public let gates: [any Gate]

    /// Creates a gate that traces what passes the gates of a stack.
    /// - Parameters:
    ///   - stack: The gates inside the span of the call. Gates outside are not part of it.
    ///   - tracer: Makes the spans. With nil it is, for each call, the tracer of
    ///     `InstrumentationSystem`, and all bootstrapped instruments are injected.
    ///   - redaction: The rules for hiding secrets.
    public init(
        _ stack: Stack, tracer: (any Tracer)? = nil, redaction: Redaction = .standard
    ) {
        let spans = SpanMaker(tracer: tracer, redaction: redaction)
        gates = CallSpans(spans: spans).gates + stack.gates + [AttemptSpan(spans: spans)]
    }

    /// Creates a gate that traces what passes the gates of a builder; see
    /// ``init(_:tracer:redaction:)``.
    public init(
        tracer: (any Tracer)? = nil, redaction: Redaction = .standard,
        @StackBuilder _ gates: () -> [any Gate]
    ) {
        self.init(Stack(gates()), tracer: tracer, redaction: redaction)
    }

    /// States that the gate traces the gates inside of it.
    public func facts(for request: Request?) -> GateFacts? { GateFacts("traces its gates") }

    /// The options that the gates handle, because the group always applies.
    public var handledOptions: [any RequestOptionKey.Type] { gates.flatMap(\.handledOptions) }

    /// Runs an operation whose calls get no span and send no context.
    ///
    /// The exporter of a tracer uses it around its own calls. Otherwise each export would make
    /// spans, which would be exported in turn. It holds for the tasks that the operation starts,
    /// except for detached ones; the refresh of a token by `BearerTokens` is one.
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
    /// Traces what passes the gates of a stack; see ``Tracing/init(_:tracer:redaction:)``.
    public static func tracing(
        _ stack: Stack, tracer: (any Tracer)? = nil, redaction: Redaction = .standard
    ) -> Self {
        Tracing(stack, tracer: tracer, redaction: redaction)
    }
}
