public import Foundation

/// The head of a response: what arrives before its content.
public struct ResponseHead: Sendable, Hashable {
    /// The status.
    public let status: HTTPStatus
    /// The header fields.
    public package(set) var headers: HTTPHeaders
    /// The URL that answered, after redirects.
    public let url: URL
    /// The protocol's version (`1.1`, `2`), where the transport knows it.
    public let version: String?

    /// Whether it was stored before, so that its cookies, and its wish for TLS, have been taken.
    package var isStored = false

    /// Creates a head.
    public init(status: HTTPStatus, headers: HTTPHeaders = [:], url: URL, version: String? = nil) {
        self.status = status
        self.headers = headers
        self.url = url
        self.version = version
    }
}

extension ResponseHead: CustomStringConvertible, CustomReflectable {
    /// Status and header fields without secrets.
    public var description: String {
        (["\(status) from \(Redaction.standard.url(url))"] + headers.redactedLines())
            .joined(separator: "\n")
    }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// One redirect that was followed.
public struct Hop: Sendable, Hashable {
    /// The status of the redirecting response.
    public let status: HTTPStatus
    /// The URL that redirected.
    public let url: URL

    /// Creates a hop.
    public init(status: HTTPStatus, url: URL) {
        self.status = status
        self.url = url
    }
}

extension Hop: CustomStringConvertible, CustomReflectable {
    /// Status and URL without secrets.
    public var description: String { "\(status) from \(Redaction.standard.url(url))" }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// A response: its head has arrived, its body is still to be read.
///
/// A value one pointer wide over shared storage. Copies share the body, which is read once; letting
/// go of all of them ends the transfer.
public struct Response: Sendable {
    private struct Parts: Sendable {
        var head: ResponseHead
        var body: ResponseBody
        var record: CallRecord?
        var headAt: MonotonicInstant?
    }

    // SAFETY: the storage is changed through a `Response` that holds the only reference to it, so
    // that the rule of exclusive access holds for it as it holds for that value.
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) private var kept: Parts

        init(_ parts: Parts) { unsafe kept = parts }

        var parts: Parts {
            _read { yield unsafe kept }
            _modify { yield unsafe &kept }
        }
    }

    private var storage: Storage

    private var parts: Parts {
        _read { yield storage.parts }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.parts) }
            yield &storage.parts
        }
    }

    /// Creates a response.
    public init(head: ResponseHead, body: ResponseBody = .empty) {
        storage = Storage(Parts(head: head, body: body))
    }

    /// Creates a response to a request.
    public init(
        to request: Request, status: HTTPStatus, headers: HTTPHeaders = [:],
        body: ResponseBody = .empty
    ) {
        self.init(
            head: ResponseHead(status: status, headers: headers, url: request.url), body: body)
    }

    /// Status, header fields, URL and version.
    public var head: ResponseHead {
        get { parts.head }
        set { parts.head = newValue }
    }

    /// The status.
    public var status: HTTPStatus { parts.head.status }
    /// The header fields.
    public var headers: HTTPHeaders { parts.head.headers }
    /// The URL that answered, after redirects.
    public var url: URL { parts.head.url }

    /// The content.
    public var body: ResponseBody {
        get { parts.body }
        set { parts.body = newValue }
    }

    /// The trailer fields, once the ``body`` has been read to its end; see
    /// ``ResponseBody/trailers``.
    public var trailers: HTTPHeaders { parts.body.trailers }

    /// When things happened in this call: a snapshot that grows until the body has ended.
    public var timeline: Timeline { parts.record?.timeline ?? Timeline() }

    /// How often the transport was asked to send in this call, redirects included.
    public var attempts: Int { parts.record?.sends ?? 0 }

    /// The redirects that were followed.
    public var hops: [Hop] { parts.record?.hops ?? [] }

    /// When the transport gave the head; nil where none did.
    package var headAt: MonotonicInstant? {
        get { parts.headAt }
        set { parts.headAt = newValue }
    }

    package var record: CallRecord? {
        get { parts.record }
        set { parts.record = newValue }
    }

    /// Adds a header field line that is known to be a valid one, without copying the others.
    package mutating func appendChecked(_ name: HTTPHeaders.Name, _ value: String) {
        parts.head.headers.appendChecked(name, value)
    }
}

extension Response: CustomStringConvertible, CustomReflectable {
    /// The head without secrets.
    public var description: String { head.description }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
