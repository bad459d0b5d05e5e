public import TurnpikeCore

/// Tells servers which trace a request belongs to (W3C Trace Context, level 2).
///
/// Place it inside a ``Retry``, so that each attempt is a span of its own. The trace continues from
/// the request's own `traceparent`, else from ``TraceParent/current``, else it begins with the call
/// and is the same for all its attempts. A `traceparent` that is not valid begins a new trace, and
/// its `tracestate` is not passed on.
///
/// The gate hands positions on and records nothing; a recorder finds the span under ``Span``.
public struct TraceContext: SynchronousRequestAdapter {
    /// The key of the attempt's span in its context; nil before the gate was passed.
    public enum Span: ContextKey {
        /// None.
        public static let defaultValue: TraceParent? = nil
        /// The attempt.
        public static var scope: ContextScope { .attempt }
    }

    private enum Root: ContextKey {
        static let defaultValue: TraceParent? = nil
    }

    private let sampling: Double

    /// Creates a gate that hands on traces.
    /// - Parameter sampling: What part of the traces that begin here is marked as recorded; those
    ///   that are continued keep their mark.
    public init(sampling: Double = 1) { self.sampling = sampling }

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
        // Two lines, joined by a comma, are no valid one.
        headers[traceparent].flatMap {
            TraceParent(parsing: $0, tracestate: headers[tracestate])
        }
    }

    private static let traceparent: HTTPHeaders.Name = "traceparent"
    private static let tracestate: HTTPHeaders.Name = "tracestate"
}

extension Gate where Self == TraceContext {
    /// Tells servers which trace a request belongs to; see ``TraceContext/init(sampling:)``.
    public static func traceContext(sampling: Double = 1) -> Self {
        TraceContext(sampling: sampling)
    }
}
