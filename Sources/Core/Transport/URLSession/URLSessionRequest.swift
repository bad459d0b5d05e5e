import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// How a ``Request`` becomes a `URLRequest` that goes over the wire as it stands.
enum URLSessionRequest {
    /// In seconds.
    ///
    /// Whole, finite and far away: the limits in time are the caller's own.
    static let timeout: TimeInterval = 86_400

    // FoundationNetworking removes a field whose value is one blank from the wire, its own defaults
    // too.
    private static let omitted = " "

    /// What URLSession cannot do, said before anything is sent.
    static func fault(of request: Request) -> ClientError? {
        #if canImport(FoundationNetworking)
        if request.url.host(percentEncoded: true)?.contains(":") == true {
            return ClientError(
                .unsupported,
                "URLSession on Linux cannot connect to an IPv6 address; use a name, or the curl transport"
            )
        }
        #endif
        if request.method == .connect {
            return ClientError(
                .unsupported, "CONNECT is a proxy's business; use a proxy of the curl transport")
        }
        if request.asksServer {
            return ClientError(
                .unsupported,
                "URLSession cannot send OPTIONS *; write a slash behind the host, or use the curl"
                    + " transport")
        }
        if request.body.hasTrailers {
            return ClientError(
                .unsupported, "URLSession cannot send trailers; use the curl transport")
        }
        if !request.body.isEmpty, request.method == .get || request.method == .head {
            return ClientError(
                .unsupported,
                "URLSession cannot send \(request.method) with a body; use QUERY or POST, or the curl"
                    + " transport")
        }
        return nil
    }

    static func make(_ request: Request, upload: Upload) -> URLRequest {
        var result = URLRequest(
            url: wireURL(request.url), cachePolicy: .reloadIgnoringLocalCacheData,
            timeoutInterval: timeout)
        result.httpMethod = request.method.rawValue
        result.httpShouldHandleCookies = false
        var hasType = false
        var hasAgent = false
        var hasLanguage = false
        for (name, value) in merged(request.headers) {
            switch name {
            case .host, .contentLength: continue
            case .contentType: hasType = true
            case .userAgent: hasAgent = true
            case .acceptLanguage: hasLanguage = true
            default: break
            }
            result.setValue(value, forHTTPHeaderField: name.rawValue)
        }
        if !hasAgent { result.setValue("turnpike", forHTTPHeaderField: "User-Agent") }
        if !hasLanguage { result.setValue(omitted, forHTTPHeaderField: "Accept-Language") }
        if let length = upload.length {
            // Exact framing by length: without the second line a stream goes out chunked, with
            // both.
            result.setValue(String(length), forHTTPHeaderField: "Content-Length")
            result.setValue(omitted, forHTTPHeaderField: "Transfer-Encoding")
            // Without a type a form is claimed.
            if !hasType { result.setValue(omitted, forHTTPHeaderField: "Content-Type") }
        } else if request.method == .delete || request.method == .options {
            // No content is expected, so none is announced (RFC 9110 §8.6); else 0 would be.
            result.setValue(omitted, forHTTPHeaderField: "Content-Length")
        }
        return result
    }

    // Names that differ in case alone are one field; several lines become one (RFC 9110 §5.3),
    // those of Cookie with a semicolon (RFC 6265 §5.4).
    private static func merged(_ headers: HTTPHeaders) -> [(HTTPHeaders.Name, String)] {
        var result: [(HTTPHeaders.Name, String)] = []
        for field in headers {
            if let index = result.firstIndex(where: { $0.0 == field.name }) {
                result[index].1 += (field.name == .cookie ? "; " : ", ") + field.value
            } else {
                result.append((field.name, field.value))
            }
        }
        return result
    }

    // A scheme in capitals is refused by FoundationNetworking, and a fragment is never sent.
    private static func wireURL(_ url: URL) -> URL {
        guard let scheme = url.scheme, scheme != scheme.lowercased() || url.fragment != nil else {
            return url
        }
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        components?.scheme = scheme.lowercased()
        components?.fragment = nil
        return components?.url ?? url
    }
}
