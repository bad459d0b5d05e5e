// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import TurnpikeEssentials

struct RequestParts {
    let method: HTTPMethod
    /// An absolute URL, or a target relative to a base URL.
    let target: Target
    let headers: HTTPHeaders

    init(_ request: HTTPRequest) throws {
        method = HTTPMethod(request.method.rawValue)
        headers = try HTTPHeaders(request.headerFields)
        if let name = request.extendedConnectProtocol {
            throw Self.refused(
                "found the protocol \"\(name)\" of an extended CONNECT (RFC 8441)",
                "a request without it", .unsupported)
        }
        if method == .connect {
            throw Self.refused(
                "found CONNECT, which opens a tunnel", "a request for a resource", .unsupported)
        }
        let place = try Self.place(of: request, headers)
        let path = try Self.path(of: request)
        try Self.check(method, place ?? "http://base", path)
        if let place {
            target = Target(place + path)
        } else {
            // The dot keeps the path below the base URL, even with two slashes at the beginning.
            target = path.isEmpty ? .server : Target("." + path)
        }
    }

    private static func place(of request: HTTPRequest, _ headers: HTTPHeaders) throws -> String? {
        switch (request.scheme, request.authority) {
        case (nil, nil): return nil
        case (nil, .some): throw refused("found an authority without a scheme", "both, or neither")
        case (.some(let scheme), let authority):
            // A message from HTTP/1.1 has the authority only in Host (RFC 9113 §8.3.1).
            guard let authority = authority ?? headers.first(.host) else {
                throw refused("found a scheme without an authority", "both, or neither")
            }
            if authority.utf8.contains(UInt8(ascii: "@")) {
                throw refused(
                    "found user information in the authority (RFC 9113 §8.3.1)",
                    "a host, and the credential in the field Authorization")
            }
            if authority.utf8.contains(where: Self.endsAuthority) {
                throw refused(
                    "found an authority with a path, a query or a fragment", "a host and a port")
            }
            return scheme + "://" + authority
        }
    }

    // RFC 3986 §3.2 defines the end. Some URL parsers treat a backslash as a slash.
    private static func endsAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\"): true
        default: false
        }
    }

    /// Returns the path and the query, or an empty text for a request to the server as a whole.
    private static func path(of request: HTTPRequest) throws -> String {
        guard let path = request.path, !path.isEmpty else {
            throw refused("found no path", "a path that begins with a slash (RFC 9113 §8.3.1)")
        }
        if path == "*" {
            if request.method == .options { return "" }
            throw refused(
                "found the path * with the method \(request.method)",
                "OPTIONS, or a path that begins with a slash (RFC 9110 §9.3.7)")
        }
        if path.utf8.first == UInt8(ascii: "/") { return path }
        throw refused("found a path without a slash at its start", "a path with it")
    }

    /// Throws an error if the request would change before the send.
    private static func check(_ method: HTTPMethod, _ place: String, _ path: String) throws {
        let request = Request(method, Target(place + path))
        if let fault = request.fault { throw ClientError(.invalidRequest, fault) }
        let text = request.targetURI.absoluteForm
        if text.utf8.elementsEqual((place + path).utf8) { return }
        guard text.utf8.starts(with: place.utf8) else {
            throw refused(
                "found a scheme or an authority that would be sent in another form",
                "a scheme in lower case, and a host in ASCII")
        }
        throw refused(
            "found a path that would be sent in another form",
            "a path without dot segments and fragment, whose other characters are"
                + " percent-encoded (RFC 3986 §3.3)")
    }

    private static func refused(
        _ found: String, _ expected: String, _ code: ClientError.Code = .invalidRequest
    ) -> ClientError { ClientError(code, found + "; expected " + expected) }
}
