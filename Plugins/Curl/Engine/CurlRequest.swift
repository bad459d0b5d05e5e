// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore
import TurnpikeSupport

struct CurlRequest: Sendable {
    // The target in absolute form, for proxies. `target` has the form for a server.
    private let url: String
    private let target: String
    // The number of bytes of scheme and authority in the absolute form.
    private let originCount: Int
    // The method, or nil if libcurl itself chooses the right method.
    private let method: String?
    private let isHead: Bool
    private let hasContent: Bool
    private let contentLength: Int64
    // Each field line ends with NUL.
    private let fields: [UInt8]

    let isFresh: Bool
    let asksForConsent: Bool
    let hasTrailers: Bool
    let isSecure: Bool
    let isShareable: Bool
    /// Whether the content is not decoded, because the request has an `Accept-Encoding`.
    let takesContentAsItComes: Bool
    let route: CurlRoute?

    // `length` is nil without content, or for content of unknown length. `decodes` is true if the
    // request accepts codings. Throws an error if libcurl cannot send the request.
    init(
        _ request: Request, body: RequestBody, length: Int64?, decodes: Bool, isFresh: Bool = false,
        route: CurlRoute? = nil
    ) throws {
        self.route = route
        self.isFresh = isFresh
        let method = request.method
        isHead = method == .head
        (url, target, originCount) = request.targetForms
        isSecure = request.origin?.scheme == "https"
        hasTrailers = body.hasTrailers
        isShareable = isSecure && !hasTrailers && route?.needsHTTP1 != true
        if method == .connect {
            throw ClientError(
                .unsupported, "CONNECT cannot be sent; set a proxy in the transport instead")
        }
        if isHead, !body.isEmpty {
            throw ClientError(
                .unsupported, "libcurl cannot send HEAD with a body; use QUERY or POST")
        }
        // Methods that expect content send `Content-Length: 0` without content (RFC 9110 §8.6).
        let announces = method == .post || method == .put || method == .patch || method == .query
        hasContent = announces || !body.isEmpty
        contentLength = hasContent ? body.isEmpty ? 0 : length ?? -1 : -1
        self.method = isHead || (method == .get && !hasContent) ? nil : method.rawValue
        var lines = FieldLines()
        for field in request.headers { lines.add(field) }
        takesContentAsItComes = lines.hasAcceptEncoding || !decodes
        lines.complete(hasContent: hasContent, decodes: decodes)
        fields = lines.bytes
        asksForConsent = hasContent && lines.hasExpect
    }

    // Calls a closure with the request in C's form. `only` is the single version that the server
    // accepts, or nil if unknown.
    func withPointers(
        version only: TransferStateMachine.Version?, isShared: Bool, _ body: (tpc_request) -> Int32
    ) -> Int32 {
        // libcurl sends no trailers over HTTP/2.
        let isHTTP1 =
            hasTrailers || only == .http1 || (route?.needsHTTP1 == true && only != .http2)
        let version = isHTTP1 ? TPC_HTTP_1_1 : only == .http2 ? TPC_HTTP_2_TLS : 0
        return unsafe url.withCString { url in
            unsafe target.withCString { target in
                unsafe withPointers { fields, method in
                    let request = unsafe tpc_request(
                        url: url, target: target, origin_count: originCount, method: method,
                        exchange: exchange, traits: traits(isShared: isShared),
                        content_length: contentLength,
                        fields: fields.baseAddress, fields_count: fields.count,
                        version: Int32(version), connect_to: nil, unix_socket: nil, scope: 0)
                    guard let route else { return unsafe body(request) }
                    return unsafe route.add(to: request, body)
                }
            }
        }
    }

    private var exchange: tpc_exchange {
        isHead ? TPC_EXCHANGE_HEAD : hasContent ? TPC_EXCHANGE_UPLOAD : TPC_EXCHANGE_PLAIN
    }

    private func traits(isShared: Bool) -> Int32 {
        let traits =
            (isFresh ? TPC_FRESH : 0) | (isSecure ? TPC_SECURE : 0)
            | (isShared ? TPC_SHARED : 0) | (hasTrailers ? TPC_TRAILERS : 0)
        return Int32(traits)
    }

    private func withPointers(
        _ body: (UnsafeBufferPointer<CChar>, _ method: UnsafePointer<CChar>?) -> Int32
    ) -> Int32 {
        unsafe fields.withUnsafeBufferPointer { fields in
            unsafe fields.withMemoryRebound(to: CChar.self) { fields in
                guard let method else { return unsafe body(fields, nil) }
                return unsafe method.withCString { unsafe body(fields, $0) }
            }
        }
    }
}

extension Request {
    fileprivate var targetForms: (url: String, target: String, originCount: Int) {
        let uri = targetURI
        let url = uri.absoluteForm
        // The last proxy changes a URL without a path to the asterisk form (RFC 9112 §3.2.4).
        if asksServer { return (url, "*", url.utf8.count) }
        let target = uri.originForm
        let originCount = url.utf8.count - target.utf8.count
        if url.hasSuffix(target) { return (url, target, originCount) }
        // In the origin form, a URL without a path has the path `/`.
        return (url.dropLast(target.utf8.count - 1) + target, target, originCount + 1)
    }
}

private let acceptEncoding = Array("Accept-Encoding: \(CompressionFormat.acceptEncoding)\0".utf8)

private struct FieldLines {
    var bytes: [UInt8] = []
    private(set) var hasAcceptEncoding = false
    private(set) var hasExpect = false
    private var hasUserAgent = false
    private var hasTE = false

    init() { bytes.reserveCapacity(256) }

    mutating func add(_ field: HTTPHeaders.Field) {
        switch field.name.rawValue.utf8.count {
        case 2 where field.name == .te: hasTE = true
        case 4 where field.name == .host: return
        case 14 where field.name == .contentLength: return
        case 15 where field.name == .acceptEncoding: hasAcceptEncoding = true
        case 10 where field.name == .userAgent: hasUserAgent = true
        case 6 where field.name == .expect: hasExpect = true
        default: break
        }
        bytes += field.name.rawValue.utf8
        if field.value.isEmpty {
            // libcurl sends an empty field only with a semicolon instead of the colon.
            bytes.append(UInt8(ascii: ";"))
        } else {
            bytes += ": ".utf8
            bytes += field.value.utf8
        }
        bytes.append(0)
    }

    /// Adds the lines that libcurl needs, and defaults for fields that the request does not have.
    mutating func complete(hasContent: Bool, decodes: Bool) {
        // This empty field prevents `Expect: 100-continue` before large content.
        if hasContent, !hasExpect { add("Expect:") }
        // `TE` needs this field (RFC 9110 §10.1.4). libcurl does not send this field over HTTP/2.
        if hasTE { add("Connection: TE") }
        if !hasUserAgent { add("User-Agent: turnpike") }
        if decodes, !hasAcceptEncoding {
            bytes += acceptEncoding
        }
    }

    private mutating func add(_ line: StaticString) {
        line.withUTF8Buffer { unsafe bytes += $0 }
        bytes.append(0)
    }
}
