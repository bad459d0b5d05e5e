// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// A request: method, URL, header fields, body and options.
///
/// Copies of a request share one storage. A gate that changes the request copies the storage once.
///
/// If the URL, the method or a header field is invalid, the call fails with
/// ``ClientError/Code/invalidRequest`` before anything is sent. The error names the part but not
/// its value. The transport sets `Content-Length`, `Transfer-Encoding`, `Host` and `Connection`.
public struct Request: Sendable {
    private struct Parts: Sendable {
        var method: HTTPMethod
        var uri: TargetURI
        // The text of the target, if a base URL was missing.
        var target: Target?
        var headers: HTTPHeaders
        var body: RequestBody
        var options: RequestOptions
    }

    @CopyOnWrite private var parts: Parts

    /// Creates a request.
    public init(
        _ method: HTTPMethod = .get, _ url: URL, headers: HTTPHeaders = [:],
        body: RequestBody = .empty,
        options: RequestOptions = RequestOptions()
    ) {
        parts = Parts(
            method: method, uri: TargetURI(url), headers: headers, body: body,
            options: options)
    }

    /// Creates a request for a target; ``Target`` describes which targets are accepted.
    public init(
        _ method: HTTPMethod = .get, _ target: some TargetConvertible, relativeTo base: URL? = nil,
        headers: HTTPHeaders = [:], body: RequestBody = .empty,
        options: RequestOptions = RequestOptions()
    ) {
        self.init(
            method, target.asTarget(), relativeTo: base.map { TargetURI($0) }, headers: headers,
            body: body,
            options: options)
    }

    init(
        _ method: HTTPMethod, _ target: Target, relativeTo base: TargetURI?,
        headers: HTTPHeaders, body: RequestBody, options: RequestOptions = RequestOptions()
    ) {
        let uri = target.resolved(against: base)
        parts = Parts(
            method: method, uri: uri, target: base == nil && uri.fault != nil ? target : nil,
            headers: headers, body: body, options: options)
    }

    /// Resolves a target that was relative when there was no base URL.
    ///
    /// If the request already has a URL, the method has no effect. If the base has user
    /// information, the base is rejected, because credentials belong to a gate.
    public mutating func resolve(against base: Target) {
        guard parts.uri.fault != nil, let target = parts.target else { return }
        let base = base.resolved(against: nil)
        parts.uri =
            if let fault = base.fault {
                TargetURI(fault: "the base URL: " + fault)
            } else if base.userInformation != nil {
                TargetURI(
                    fault: "the base URL contains user information; use a gate for credentials")
            } else {
                target.resolved(against: base)
            }
    }

    /// The method.
    public var method: HTTPMethod {
        get { parts.method }
        set { parts.method = newValue }
    }

    /// The absolute URL, without dot segments in its path (RFC 3986 §5.2.4).
    ///
    /// An escaped dot (`%2e`) is not decoded but sent unchanged.
    public var url: URL {
        get { parts.uri.url }
        set { targetURI = TargetURI(newValue) }
    }

    /// The parts of ``url``, parsed once, in the forms in which they are sent.
    public var targetURI: TargetURI {
        get { parts.uri }
        set {
            parts.uri = newValue
            parts.target = nil
        }
    }

    /// The header fields.
    public var headers: HTTPHeaders {
        _read { yield parts.headers }
        _modify { yield &parts.headers }
    }

    /// The content.
    public var body: RequestBody {
        get { parts.body }
        _modify { yield &parts.body }
    }

    /// The options for gates and the transport.
    public var options: RequestOptions {
        _read { yield parts.options }
        _modify { yield &parts.options }
    }

    /// The origin of the URL, or nil if the scheme is not http or https.
    public var origin: Origin? { parts.uri.origin }

    /// Whether the request asks about the whole server and is sent with `*` as its target.
    ///
    /// Such a request is an OPTIONS request for a URL without path and query (RFC 9110 §9.3.7, RFC
    /// 9112 §3.2.4). ``TargetConvertible/server`` is such a URL.
    public var asksServer: Bool {
        method == .options && parts.uri.isOriginAlone
    }

    /// Whether sending the request twice has the same effect as sending it once.
    ///
    /// The caller may decide (``RetryableOption``). If the caller does not, the method or an
    /// `Idempotency-Key` decides.
    public var isRepeatable: Bool {
        options[RetryableOption.self] ?? (method.isIdempotent || headers.contains(.idempotencyKey))
    }

    /// Sets `Trailer` to the trailer names of the body (RFC 9110 §6.6.2), replacing any value.
    mutating func announceTrailers() {
        headers[.trailer] = body.trailerNames.map(\.rawValue).joined(separator: ", ")
    }

    /// Joins several `Cookie` lines into one, because a request may have only one (RFC 6265 §5.4).
    mutating func uniteCookies() {
        guard headers.count(where: { $0.name == .cookie }) > 1 else { return }
        headers[.cookie] = headers[.cookie]
    }

    /// Asks for uncoded content if the request has a range and names no coding, because a range of
    /// coded content could not be decoded.
    mutating func askForPlainRange() {
        if headers.contains(.range) { headers.setIfAbsent(.acceptEncoding, "identity") }
    }

    /// The reason why the request is invalid, or nil; the text contains no value of the caller.
    public var fault: String? {
        if let fault = parts.uri.fault { return fault }
        if !parts.method.isValid {
            return "the method is not a token (RFC 9110 §5.6.2); use letters and hyphens"
        }
        if let fault = parts.headers.sendingFault { return fault }
        return framingFault
    }

    // Only the transport frames the message, because conflicting framing allows request smuggling.
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

/// A value that copies share until one of them is changed.
@propertyWrapper
struct CopyOnWrite<Value: Sendable>: Sendable {
    // SAFETY: the box is changed only through a `CopyOnWrite` that holds the only reference to it,
    // so the exclusive access to that value extends to the box.
    private final class Box: @unchecked Sendable {
        @exclusivity(unchecked) private var kept: Value

        init(_ value: Value) { unsafe kept = value }

        var value: Value {
            _read { yield unsafe kept }
            _modify { yield unsafe &kept }
        }
    }

    private var box: Box

    init(wrappedValue: Value) { box = Box(wrappedValue) }

    var wrappedValue: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}

extension Request {
    /// Sets `Content-Type` from the body if the header fields do not contain it.
    ///
    /// If a multipart type has no boundary, or another boundary than the body, it gets the boundary
    /// of the body, so that the parts can be separated. The client calls this method for each sent
    /// request. Code that converts a request to another type must set the field itself.
    public mutating func describeBody() {
        guard let type = body.contentType else { return }
        guard let text = headers[.contentType] else {
            headers[.contentType] = type.description
            return
        }
        guard let boundary = type[parameter: "boundary"], let given = MediaType(parsing: text),
            given.type == "multipart", given[parameter: "boundary"] != boundary
        else { return }
        let parameters = given.parameters.filter { $0.name != "boundary" }
        headers[.contentType] =
            MediaType(
                given.type, given.subtype,
                parameters: parameters + [.init(name: "boundary", value: boundary)]
            ).description
    }
}
