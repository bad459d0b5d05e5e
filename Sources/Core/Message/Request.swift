public import Foundation

/// A request: method, URL, header fields, body and options for this call.
///
/// A value one pointer wide over shared storage: passing it down a chain copies nothing, and
/// editing it in a gate copies once.
///
/// A bad URL, method or header is remembered, and the call fails as
/// ``ClientError/Code/invalidRequest``, naming the place and not the value, before anything is
/// sent. `Content-Length`, `Transfer-Encoding`, `Host` and `Connection` belong to the transport.
public struct Request: Sendable {
    // SAFETY: the storage is changed through a `Request` that holds the only reference to it.
    private final class Storage: @unchecked Sendable {
        var method: HTTPMethod
        var url: URL
        var urlFault: String?
        // What the URL was to be made of, where a base URL was missing.
        var target: Target?
        var headers: HTTPHeaders
        var body: Body
        var options: RequestOptions

        init(
            method: HTTPMethod, url: URL, urlFault: String?, target: Target? = nil,
            headers: HTTPHeaders, body: Body, options: RequestOptions
        ) {
            self.method = method
            self.url = url
            self.urlFault = urlFault
            self.target = target
            self.headers = headers
            self.body = body
            self.options = options
        }

        func copy() -> Storage {
            Storage(
                method: method, url: url, urlFault: urlFault, target: target, headers: headers,
                body: body, options: options)
        }
    }

    private var storage: Storage

    /// Creates a request.
    public init(
        _ method: HTTPMethod = .get, _ url: URL, headers: HTTPHeaders = [:], body: Body = .empty,
        options: RequestOptions = RequestOptions()
    ) {
        storage = Storage(
            method: method, url: url.withoutDotSegments, urlFault: Target.fault(of: url),
            headers: headers, body: body, options: options)
    }

    /// Creates a request for a target in text; see ``Target`` for what is accepted.
    public init(
        _ method: HTTPMethod = .get, _ target: Target, relativeTo base: URL? = nil,
        headers: HTTPHeaders = [:], body: Body = .empty, options: RequestOptions = RequestOptions()
    ) {
        let (url, fault) = target.resolved(against: base)
        storage = Storage(
            method: method, url: url, urlFault: fault,
            target: base == nil && fault != nil ? target : nil, headers: headers, body: body,
            options: options)
    }

    /// Resolves a target that was relative while there was no base URL to resolve it against.
    ///
    /// It has no effect on a request that has its URL. User information in the base is refused: a
    /// credential belongs to a gate of its own.
    public mutating func resolve(against base: Target) {
        guard storage.urlFault != nil, let target = storage.target else { return }
        makeUnique()
        let (baseURL, baseFault) = base.resolved(against: nil)
        if let baseFault {
            storage.urlFault = "the base URL: " + baseFault
        } else if baseURL.user != nil || baseURL.password != nil {
            storage.urlFault = "the base URL holds user information; use a gate for credentials"
        } else {
            (storage.url, storage.urlFault) = target.resolved(against: baseURL)
        }
    }

    /// The method.
    public var method: HTTPMethod {
        get { storage.method }
        set {
            makeUnique()
            storage.method = newValue
        }
    }

    /// The absolute URL, without dot segments in its path (RFC 3986 §5.2.4).
    public var url: URL {
        get { storage.url }
        set {
            makeUnique()
            storage.url = newValue.withoutDotSegments
            storage.urlFault = Target.fault(of: newValue)
            storage.target = nil
        }
    }

    /// The header fields.
    public var headers: HTTPHeaders {
        get { storage.headers }
        _modify {
            makeUnique()
            yield &storage.headers
        }
    }

    /// The content.
    public var body: Body {
        get { storage.body }
        set {
            makeUnique()
            storage.body = newValue
        }
    }

    /// What this call wishes of gates and transport.
    public var options: RequestOptions {
        get { storage.options }
        _modify {
            makeUnique()
            yield &storage.options
        }
    }

    /// The origin of the URL, or nil where the URL is not http or https.
    public var origin: Origin? { Origin(storage.url) }

    /// Whether sending the request twice has the effect of sending it once: by the caller's word
    /// (``RetryableOption``), else by its method or an `Idempotency-Key`.
    public var isRepeatable: Bool {
        options[RetryableOption.self] ?? (method.isIdempotent || headers.contains(.idempotencyKey))
    }

    /// Sets `Trailer` from the body (RFC 9110 §6.6.2), whatever it was.
    mutating func announceTrailers() {
        headers[.trailer] = body.trailerNames.map(\.rawValue).joined(separator: ", ")
    }

    /// Makes one line of several `Cookie` lines, for a request has no more (RFC 6265 §5.4).
    mutating func uniteCookies() {
        guard headers.count(where: { $0.name == .cookie }) > 1 else { return }
        headers[.cookie] = headers[.cookie]
    }

    /// Asks for content without a coding where a part of it is wanted and the request names none:
    /// the part would be one of the coded bytes, which nobody could decode.
    mutating func askForPlainRange() {
        if headers.contains(.range) { headers.setIfAbsent(.acceptEncoding, "identity") }
    }

    private mutating func makeUnique() {
        if !isKnownUniquelyReferenced(&storage) { storage = storage.copy() }
    }

    /// What is wrong with the request, or nil.
    ///
    /// It never holds a value of the caller's.
    package var fault: String? {
        if let fault = storage.urlFault { return fault }
        if !storage.method.isValid {
            return "the method is not a token (RFC 9110 §5.6.2); use letters and hyphens"
        }
        if let fault = storage.headers.sendingFault { return fault }
        return framingFault
    }

    // The transport frames the message; a second opinion would be a request smuggling hole.
    private var framingFault: String? {
        for field in storage.headers {
            switch field.name {
            case .contentLength:
                if let length = storage.body.length, field.value == String(length) { continue }
                return "Content-Length is set from the body; remove the header"
            case .transferEncoding, .connection, .keepAlive, .upgrade, "Proxy-Connection":
                return "the transport sets \(field.name) itself; remove the header"
            case .host:
                if let origin, Self.isHost(field.value, of: origin) { continue }
                return "Host is set from the URL; remove the header"
            default: continue
            }
        }
        return nil
    }

    private static func isHost(_ value: String, of origin: Origin) -> Bool {
        let authority = origin.description.dropFirst(origin.scheme.count + 3)
        return Grammar.equalsIgnoringCase(value, String(authority))
            || Grammar.equalsIgnoringCase(value, "\(authority):\(origin.port)")
    }
}

extension Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method and URL without secrets.
    public var description: String { "\(method) \(redactedTarget(.standard))" }

    /// Method, URL and header fields without secrets, and the body's size.
    public var debugDescription: String {
        ([description] + headers.redactedLines() + ["[\(body)]"]).joined(separator: "\n")
    }

    /// What a dump shows: no more than ``debugDescription``.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": debugDescription])
    }

    func redactedTarget(_ redaction: Redaction) -> String {
        storage.urlFault == nil ? redaction.url(storage.url) : "(invalid URL)"
    }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// The field lines, without secrets.
    public var description: String { redactedLines().joined(separator: "\n") }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: redactedLines()) }

    package func redactedLines(_ redaction: Redaction = .standard) -> [String] {
        fields.map { "\($0.name): \(redaction.value(of: $0))" }
    }
}

extension HTTPHeaders.Field: CustomStringConvertible, CustomReflectable {
    /// The field line, without secrets.
    public var description: String { "\(name): \(Redaction.standard.value(of: self))" }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: [description]) }
}
