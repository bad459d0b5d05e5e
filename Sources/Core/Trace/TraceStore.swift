/// Keeps the traces of a client's calls: those that failed, those that were slow, and a share of the
/// others.
///
/// ```swift
/// let traces = TraceStore(sampling: 0.01, slowerThan: .seconds(2))
/// let client = Client(transport: transport, trace: traces)
/// for trace in traces.traces { print(trace.id, trace.spans.count) }
/// ```
public final class TraceStore: Sendable {
    /// The share of calls that are kept although they neither failed nor were slow, 0 to 1.
    public let sampling: Double
    /// How long a call takes that is kept as slow; nil if none is.
    public let slowerThan: Duration?
    /// How many calls are kept; the oldest is dropped for a new one.
    public let maxCalls: Int
    /// How many bytes the kept traces take, about; the oldest is dropped for a new one.
    public let maxBytes: Int
    let redaction: Redaction

    /// Creates a store.
    /// - Parameters:
    ///   - sampling: The share of calls that are kept although they neither failed nor were slow, 0
    ///     to 1; drawn once for each call (``CallRandom/share``).
    ///   - slowerThan: How long a call takes that is kept whatever the share; nil for none.
    ///   - maxCalls: How many calls are kept.
    ///   - maxBytes: How many bytes the kept traces take, about.
    ///   - redaction: What is hidden in the traces.
    public init(
        sampling: Double = 1, slowerThan: Duration? = nil, maxCalls: Int = 256,
        maxBytes: Int = 4_194_304, redaction: Redaction = .standard
    ) {
        self.sampling = sampling
        self.slowerThan = slowerThan
        self.maxCalls = max(maxCalls, 1)
        self.maxBytes = max(maxBytes, 0)
        self.redaction = redaction
    }

    /// The kept traces, and those of calls that are under way, in the order in which the calls began.
    public var traces: [Trace] { [] }
}
