/// When the things of a call happened: a snapshot.
///
/// The instants belong to the last exchange of the call (a redirect or a retry begins a new one);
/// `start` is the call's. What a transport does not know stays nil.
public struct Timeline: Sendable, Hashable {
    /// The call began.
    public var start: MonotonicInstant?
    /// The last exchange was handed to the transport.
    public var sent: MonotonicInstant?
    /// The host's name was resolved.
    public var resolved: MonotonicInstant?
    /// The connection was there: made, or taken from the pool.
    public var connected: MonotonicInstant?
    /// The TLS handshake was done.
    public var secured: MonotonicInstant?
    /// The request could be sent (libcurl's pre-transfer time).
    public var ready: MonotonicInstant?
    /// The first byte of the response came.
    public var firstByte: MonotonicInstant?
    /// The response's head was complete.
    public var head: MonotonicInstant?
    /// The response's body had ended.
    public var bodyEnd: MonotonicInstant?
    /// The body had become a value.
    public var serialized: MonotonicInstant?
    /// Whether the connection had served another exchange before; nil where not known.
    public var isConnectionReused: Bool?
    /// The peer's address, where it is known.
    public var peerAddress: String?
    /// The version of HTTP that the response came by, as in `1.1` or `2`.
    public var protocolVersion: String?
    /// The size of the response's content before decoding, where it is known.
    public var encodedBodyBytes: Int64?
    /// The bytes of the request's content that were sent in the last exchange.
    public var bodyBytesSent: Int64 = 0
    /// The bytes of content that the reader got.
    public var bodyBytesReceived: Int64 = 0

    /// Creates an empty timeline.
    public init() {}

    /// Forgets the exchange before, for another one that is sent now.
    mutating func begin(at now: MonotonicInstant) {
        let begin = start
        self = Timeline()
        start = begin
        sent = now
    }

    /// From the start of the call to the head of its response.
    public var latency: Duration? { Self.span(start, head) }
    /// From the start of the call to the end of the body.
    public var requestDuration: Duration? { Self.span(start, bodyEnd) }
    /// From the end of the body to the value.
    public var serializationDuration: Duration? { Self.span(bodyEnd, serialized) }
    /// From the start of the call to the last thing that happened.
    public var totalDuration: Duration? { Self.span(start, serialized ?? bodyEnd ?? head) }

    private static func span(_ from: MonotonicInstant?, _ to: MonotonicInstant?) -> Duration? {
        guard let from, let to else { return nil }
        return from.duration(to: to)
    }
}
