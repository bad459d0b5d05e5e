// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Propagates the trace context of a request to servers (W3C Trace Context, level 2).
///
/// Place this gate inside a ``Retry``, because each attempt is a separate span. The trace continues
/// the request's `traceparent`. If the request has no `traceparent`, the trace continues
/// ``TraceParent/current``. If the request and the task have no position, a new trace begins with
/// the call, and all attempts of the call share the trace. If a `traceparent` is not valid, the
/// gate ignores this field and the `tracestate` of the request.
///
/// The gate propagates the trace context and records nothing. A recorder reads the span with the
/// context key ``Span``.
public struct TraceContext: SynchronousRequestAdapter {
    /// The context key for the span of an attempt, or nil before the request passes the gate.
    public enum Span: ContextKey {
        /// No span.
        public static let defaultValue: TraceParent? = nil
        /// The span belongs to one attempt.
        public static var scope: ContextScope { .attempt }
    }

    private enum Root: ContextKey {
        static let defaultValue: TraceParent? = nil
    }

    private let sampling: Double

    /// Creates a gate that propagates traces.
    /// - Parameter sampling: The share of new traces that are marked as sampled, from 0 to 1. If
    ///   the trace continues an earlier trace, the trace has the same mark as the earlier trace.
    public init(sampling: Double = 1) { self.sampling = sampling }

    /// States the fields that the gate sets, and that the gate must be inside a retry gate.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "identifies a span of the trace",
            .setsFields([Self.traceparent, Self.tracestate], .plain),
            order: [
                GateOrder(
                    .inside, .retry, because: "All attempts of a call would be one span.")
            ])
    }

    /// Sets the fields for this attempt.
    public func adapt(_ request: inout Request, context: Context) {
        let parent =
            Self.parent(in: request.headers) ?? TraceParent.current
            ?? context.value(of: Root.self) {
                .root(context.random, isSampled: sampling >= 1 || context.random.unit() < sampling)
            }
        let span = parent.child(context.random)
        request.headers[Self.traceparent] = span.description
        request.headers[Self.tracestate] = span.state
        context[Span.self] = span
    }

    private static func parent(in headers: HTTPHeaders) -> TraceParent? {
        // If the request has two `traceparent` lines, the joined value is not valid.
        headers[traceparent].flatMap {
            TraceParent(parsing: $0, tracestate: headers[tracestate])
        }
    }

    private static let traceparent: HTTPHeaders.Name = "traceparent"
    private static let tracestate: HTTPHeaders.Name = "tracestate"
}

extension Gate where Self == TraceContext {
    /// Propagates the trace context; see ``TraceContext/init(sampling:)``.
    public static func traceContext(sampling: Double = 1) -> Self {
        TraceContext(sampling: sampling)
    }
}
