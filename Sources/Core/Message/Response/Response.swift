// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// A response whose head has arrived and whose body can be read.
///
/// Copies of a response share the body, which can be read once. The transfer ends when all copies
/// are released.
public struct Response: Sendable {
    private struct Parts: Sendable {
        var head: ResponseHead
        var body: ResponseBody
        var history: (any ResponseHistory)?
        var headAt: MonotonicInstant?
        var exchange: Int?
        var serialization: SerializationContext?
        var upgradedConnection: UpgradedConnection?

        mutating func arrive(
            at instant: MonotonicInstant, in history: any ResponseHistory, exchange: Int
        ) {
            (self.history, headAt, self.exchange) = (history, instant, exchange)
        }
    }

    @CopyOnWrite private var parts: Parts

    /// Creates a response.
    public init(head: ResponseHead, body: ResponseBody = .empty) {
        parts = Parts(head: head, body: body)
    }

    /// Creates a response to a request.
    public init(
        to request: Request, status: HTTPStatus, headers: HTTPHeaders = [:],
        body: ResponseBody = .empty
    ) {
        self.init(
            head: ResponseHead(status: status, headers: headers, url: request.url), body: body)
    }

    /// The status, the header fields, the URL and the version.
    public var head: ResponseHead {
        _read { yield parts.head }
        _modify { yield &parts.head }
    }

    /// The status.
    public var status: HTTPStatus { parts.head.status }
    /// The header fields.
    public var headers: HTTPHeaders { parts.head.headers }
    /// The URL that returned the response, after redirects.
    public var url: URL { parts.head.url }

    /// The content.
    public var body: ResponseBody {
        get { parts.body }
        set { parts.body = newValue }
    }

    /// The trailer fields (``ResponseBody/trailers``), which are available at the end of ``body``.
    public var trailers: HTTPHeaders { parts.body.trailers }

    /// The times of the past events of the call; before the body ends, times may be added.
    public var timeline: Timeline { parts.history?.timeline ?? Timeline() }

    /// The number of sends of this call, including redirects.
    public var attempts: Int { parts.history?.sends ?? 0 }

    /// The redirects that the call followed.
    public var hops: [Hop] { parts.history?.hops ?? [] }

    /// The connection, if the server has switched to the protocol of ``RequestOptions/upgrade``.
    ///
    /// A transport sets the connection in a response with the status 101.
    public var upgradedConnection: UpgradedConnection? {
        get { parts.upgradedConnection }
        set { parts.upgradedConnection = newValue }
    }

    /// The time when the transport returned the head; nil without a transport.
    var headAt: MonotonicInstant? { parts.headAt }

    /// The number of the exchange in the call; nil without a transport.
    var exchange: Int? {
        get { parts.exchange }
        set { parts.exchange = newValue }
    }

    mutating func didArrive(
        at instant: MonotonicInstant, in history: any ResponseHistory, exchange: Int
    ) {
        parts.arrive(at: instant, in: history, exchange: exchange)
    }

    /// The context for a serializer, if the call returned the response with an unread body.
    public internal(set) var serialization: SerializationContext? {
        get { parts.serialization }
        set { parts.serialization = newValue }
    }

    var history: (any ResponseHistory)? {
        get { parts.history }
        set { parts.history = newValue }
    }
}

/// The head of a response, which arrives before the content.
public struct ResponseHead: Sendable, Hashable {
    /// The status.
    public let status: HTTPStatus
    /// The header fields.
    public var headers: HTTPHeaders
    /// The URL that returned the response, after redirects.
    public let url: URL
    /// The protocol version (`1.1`, `2`, `3`), if the transport knows it.
    public let version: String?

    /// Whether the response comes from a store, and cookies and HSTS were processed earlier.
    public var isStored = false

    /// Creates a head.
    public init(status: HTTPStatus, headers: HTTPHeaders = [:], url: URL, version: String? = nil) {
        self.status = status
        self.headers = headers
        self.url = url
        self.version = version
    }
}

/// A redirect that was followed.
public struct Hop: Sendable, Hashable {
    /// The status of the redirecting response.
    public let status: HTTPStatus
    /// The URL that redirected.
    public let url: URL

    init(status: HTTPStatus, url: URL) {
        self.status = status
        self.url = url
    }
}

/// The data of a call that a response refers to; a reference to a class needs no allocation.
protocol ResponseHistory: AnyObject, Sendable {
    var timeline: Timeline { get }

    var sends: Int { get }

    var hops: [Hop] { get }

    func completed(_ error: ClientError, of head: ResponseHead) -> ClientError

    func completed(_ error: any Error) -> any Error
}

protocol ResponseBodyListener: AnyObject, Sendable {
    func didReceive(bytes: Int, in exchange: Int)

    func didEndBody(of exchange: Int)
}
