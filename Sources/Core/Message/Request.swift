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
    private struct Parts: Sendable {
        var method: HTTPMethod
        var url: RequestURL
        // What the URL was to be made of, where a base URL was missing.
        var target: Target?
        var headers: HTTPHeaders
        var body: Body
        var options: RequestOptions
    }

    // SAFETY: the storage is changed through a `Request` that holds the only reference to it, so
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

    /// Creates a request.
    public init(
        _ method: HTTPMethod = .get, _ url: URL, headers: HTTPHeaders = [:], body: Body = .empty,
        options: RequestOptions = RequestOptions()
    ) {
        storage = Storage(
            Parts(
                method: method, url: RequestURL(url), headers: headers, body: body,
                options: options))
    }

    /// Creates a request for a target in text; see ``Target`` for what is accepted.
    public init(
        _ method: HTTPMethod = .get, _ target: Target, relativeTo base: URL? = nil,
        headers: HTTPHeaders = [:], body: Body = .empty, options: RequestOptions = RequestOptions()
    ) {
        let url = target.resolved(against: base)
        storage = Storage(
            Parts(
                method: method, url: url, target: base == nil && url.fault != nil ? target : nil,
                headers: headers, body: body, options: options))
    }

    /// Resolves a target that was relative while there was no base URL to resolve it against.
    ///
    /// It has no effect on a request that has its URL. User information in the base is refused: a
    /// credential belongs to a gate of its own.
    public mutating func resolve(against base: Target) {
        guard parts.url.fault != nil, let target = parts.target else { return }
        let base = base.resolved(against: nil)
        parts.url =
            if let fault = base.fault {
                RequestURL(fault: "the base URL: " + fault)
            } else if base.url.user != nil || base.url.password != nil {
                RequestURL(fault: "the base URL holds user information; use a gate for credentials")
            } else {
                target.resolved(against: base.url)
            }
    }

    /// The method.
    public var method: HTTPMethod {
        get { parts.method }
        set { parts.method = newValue }
    }

    /// The absolute URL, without dot segments in its path (RFC 3986 §5.2.4).
    public var url: URL {
        get { parts.url.url }
        set {
            parts.url = RequestURL(newValue)
            parts.target = nil
        }
    }

    /// The header fields.
    public var headers: HTTPHeaders {
        get { parts.headers }
        _modify { yield &parts.headers }
    }

    /// The content.
    public var body: Body {
        get { parts.body }
        set { parts.body = newValue }
    }

    /// What this call wishes of gates and transport.
    public var options: RequestOptions {
        get { parts.options }
        _modify { yield &parts.options }
    }

    /// The origin of the URL, or nil where the URL is not http or https.
    public var origin: Origin? { parts.url.origin }

    /// Whether the request asks about the server as a whole, and so goes out with `*` as its target:
    /// OPTIONS for a URL that has neither path nor query (RFC 9110 §9.3.7, RFC 9112 §3.2.4).
    ///
    /// ``Target/server`` is such a URL.
    public var asksServer: Bool {
        method == .options && url.path(percentEncoded: true).isEmpty
            && url.query(percentEncoded: true) == nil
    }

    /// Whether the URL may hold user information.
    var mayHoldUser: Bool { parts.url.mayHoldUser }

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

    /// What is wrong with the request, or nil.
    ///
    /// It never holds a value of the caller's.
    package var fault: String? {
        if let fault = parts.url.fault { return fault }
        if !parts.method.isValid {
            return "the method is not a token (RFC 9110 §5.6.2); use letters and hyphens"
        }
        if let fault = parts.headers.sendingFault { return fault }
        return framingFault
    }

    // The transport frames the message; a second opinion would be a request smuggling hole.
    private var framingFault: String? {
        for field in parts.headers {
            switch field.name {
            case .contentLength:
                if let length = parts.body.length, field.value == String(length) { continue }
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
        parts.url.fault == nil ? redaction.url(url) : "(invalid URL)"
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
