// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Converts a request into a `URLRequest` that URLSession sends without changes.
enum URLSessionRequest {
    // The time limit in seconds. The value is a whole number and finite, as URLSession requires.
    // The time limit is long, because callers set their own limits.
    static let timeout: TimeInterval = 86_400

    // If the value of a field is a single space, FoundationNetworking sends neither the field nor
    // its own default.
    private static let omitted = " "

    /// Returns an error for a request that URLSession cannot send.
    static func fault(of request: Request) -> ClientError? {
        #if canImport(FoundationNetworking)
        if request.origin?.host.utf8.contains(UInt8(ascii: ":")) == true {
            return ClientError(
                .unsupported,
                "URLSession on Linux cannot connect to an IPv6 address; use a name, or the curl transport"
            )
        }
        #endif
        if request.method == .connect {
            return ClientError(
                .unsupported, "CONNECT is not supported; use a proxy with the curl transport")
        }
        if request.asksServer {
            return ClientError(
                .unsupported,
                "URLSession cannot send OPTIONS *; add a slash after the host, or use the curl"
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
            url: wireURL(request.targetURI), cachePolicy: .reloadIgnoringLocalCacheData,
            timeoutInterval: timeout)
        result.httpMethod = request.method.rawValue
        result.httpShouldHandleCookies = false
        var hasType = false
        var hasAgent = false
        var hasLanguage = false
        // Several lines with the same name become one line.
        for name in Set(request.headers.map(\.name)) {
            switch name {
            case .host, .contentLength: continue
            case .contentType: hasType = true
            case .userAgent: hasAgent = true
            case .acceptLanguage: hasLanguage = true
            default: break
            }
            result.setValue(request.headers[name], forHTTPHeaderField: name.rawValue)
        }
        if !hasAgent { result.setValue("turnpike", forHTTPHeaderField: "User-Agent") }
        if !hasLanguage { result.setValue(omitted, forHTTPHeaderField: "Accept-Language") }
        if let length = upload.length {
            // The second field declares the length of the body. Without this field,
            // FoundationNetworking sends a stream as chunks.
            result.setValue(String(length), forHTTPHeaderField: "Content-Length")
            result.setValue(omitted, forHTTPHeaderField: "Transfer-Encoding")
            // Without a type, FoundationNetworking would send the media type of a form.
            if !hasType { result.setValue(omitted, forHTTPHeaderField: "Content-Type") }
        } else if request.method == .delete || request.method == .options {
            // The request has no length field, because the server expects no content (RFC 9110
            // §8.6). The default value would be 0.
            result.setValue(omitted, forHTTPHeaderField: "Content-Length")
        }
        return result
    }

    // FoundationNetworking refuses a scheme in capitals. A fragment is never sent. A user and a
    // password in the URL are not sent either, because both were moved to a header field or
    // dropped.
    private static func wireURL(_ uri: TargetURI) -> URL {
        let form = uri.absoluteForm
        guard let scheme = uri.origin?.scheme,
            form != uri.url.absoluteString || !form.hasPrefix(scheme)
        else {
            return uri.url
        }
        return URL(string: scheme + form.drop { $0 != ":" }) ?? uri.url
    }
}
