// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A response whose head has arrived and whose body can be read.
///
/// It is one pointer wide and shares its storage. Copies share the body, which can be read once.
/// Releasing all copies ends the transfer.
public struct Response: Sendable {
    private struct Parts: Sendable {
        var head: ResponseHead
        var body: ResponseBody
        var record: CallRecord?
        var headAt: MonotonicInstant?
        var exchange: Int?
        var serialization: SerializationContext?
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

    /// The status, header fields, URL and version.
    public var head: ResponseHead {
        _read { yield parts.head }
        _modify { yield &parts.head }
    }

    /// The status.
    public var status: HTTPStatus { parts.head.status }
    /// The header fields.
    public var headers: HTTPHeaders { parts.head.headers }
    /// The URL that responded, after redirects.
    public var url: URL { parts.head.url }

    /// The content.
    public var body: ResponseBody {
        get { parts.body }
        set { parts.body = newValue }
    }

    /// The trailer fields, available when the ``body`` has been read completely; see
    /// ``ResponseBody/trailers``.
    public var trailers: HTTPHeaders { parts.body.trailers }

    /// The times of the events of the call.
    ///
    /// Later snapshots may contain more until the body has ended.
    public var timeline: Timeline { parts.record?.timeline ?? Timeline() }

    /// How many times the transport was asked to send in this call, including redirects.
    public var attempts: Int { parts.record?.sends ?? 0 }

    /// The redirects that were followed.
    public var hops: [Hop] { parts.record?.hops ?? [] }

    /// When the transport returned the head; nil if the response does not come from a transport.
    var headAt: MonotonicInstant? {
        get { parts.headAt }
        set { parts.headAt = newValue }
    }

    /// The number of the response's exchange within its call; nil if it does not come from a transport.
    var exchange: Int? {
        get { parts.exchange }
        set { parts.exchange = newValue }
    }

    /// What a serializer gets to know of the call that returned the response before its body was
    /// read; nil if no call did.
    package var serialization: SerializationContext? {
        get { parts.serialization }
        set { parts.serialization = newValue }
    }

    package var record: CallRecord? {
        get { parts.record }
        set { parts.record = newValue }
    }
}

extension Response: DescriptionReflectable {
    /// The head without secrets.
    public var description: String { head.description }
}
