/// What carries one exchange: a request there, a response back.
///
/// A transport follows no redirects, keeps no cookies, caches nothing, answers no challenge and
/// repeats nothing: those are gates. The task that calls ``send(_:context:)`` counts only until it
/// returns; from then on the body ends by its reader's cancellation, its drop, or the context's
/// cancellation.
///
/// ``Exchange`` gives a transport all of that; it has to feed it and to stop when it is told to.
public protocol Transport: Sendable {
    /// What the transport can do.
    var capabilities: TransportCapabilities { get }

    /// Sends a request and returns when the head of its response has come.
    /// - Throws: A ``ClientError`` with a ``TransferState``, so that others can tell whether
    ///   sending again is safe; `CancellationError` at once when the task is cancelled; the error
    ///   of the context's ``Context/cancelReason`` when that is.
    func send(_ request: Request, context: Context) async throws -> Response

    /// Ends what is under way at once, lets go of connections, and returns when they are gone.
    ///
    /// Later sends fail. To wait for what is under way is the client's part, which comes before:
    /// ``Client/shutdown(grace:)``.
    func shutdown() async
}

/// What a transport can do beyond sending a request and streaming its response.
public struct TransportCapabilities: OptionSet, Hashable, Sendable {
    /// The set's bits.
    public let rawValue: UInt32

    /// Creates a set from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A request body leaves as it is made, without a length.
    public static let liveUpload = Self(rawValue: 1 << 0)
    /// A reader that does not pull holds the server back.
    public static let backpressure = Self(rawValue: 1 << 1)
    /// Certificates can be pinned.
    public static let pinning = Self(rawValue: 1 << 2)
    /// Certificate authorities can be given.
    public static let customAuthorities = Self(rawValue: 1 << 3)
    /// The client can show a certificate.
    public static let clientCertificate = Self(rawValue: 1 << 4)
    /// HTTP/2.
    public static let http2 = Self(rawValue: 1 << 5)
    /// A proxy can be given.
    public static let proxy = Self(rawValue: 1 << 6)
    /// Connections to a Unix socket.
    public static let unixSocket = Self(rawValue: 1 << 7)
    /// The content coding can be left to the caller.
    public static let rawEncoding = Self(rawValue: 1 << 8)
    /// Trailer fields reach the caller (``ResponseBody/trailers``).
    public static let trailers = Self(rawValue: 1 << 9)
    /// The timeline tells lookup, connection and handshake apart.
    public static let phaseTimes = Self(rawValue: 1 << 10)
    /// Hosts written as IPv6 addresses.
    public static let ipv6Literals = Self(rawValue: 1 << 11)
    /// Sizes before decoding are known, so that a ratio can be limited.
    public static let encodedSizes = Self(rawValue: 1 << 12)
    /// Trailer fields can follow the content of a request (``Body/followed(by:_:)``).
    public static let requestTrailers = Self(rawValue: 1 << 13)

    private static let names: [(Self, String)] = [
        (.liveUpload, "live upload"), (.backpressure, "backpressure"), (.pinning, "pinning"),
        (.customAuthorities, "certificate authorities"),
        (.clientCertificate, "client certificate"), (.http2, "HTTP/2"), (.proxy, "proxy"),
        (.unixSocket, "Unix socket"), (.rawEncoding, "raw encoding"), (.trailers, "trailers"),
        (.phaseTimes, "phase times"), (.ipv6Literals, "IPv6 literals"),
        (.encodedSizes, "encoded sizes"), (.requestTrailers, "request trailers"),
    ]

    /// The error for what is asked and not here, or nil.
    package func fault(missing required: Self, for asker: String) -> ClientError? {
        let missing = required.subtracting(self)
        guard !missing.isEmpty else { return nil }
        return ClientError(
            .unsupported, "\(asker) needs \(missing), which the client's transport cannot do")
    }
}

extension TransportCapabilities: CustomStringConvertible {
    /// The names of the capabilities.
    public var description: String {
        Self.names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
