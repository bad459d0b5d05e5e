// SPDX-License-Identifier: Apache-2.0

/// A response status code (RFC 9110 §15).
public struct HTTPStatus: Hashable, Sendable {
    /// The three-digit code, which may be outside 100..<600.
    public let code: Int

    /// Creates a status from its code.
    public init(_ code: Int) { self.code = code }

    /// Whether the status is 2xx.
    public var isSuccessful: Bool { 200..<300 ~= code }

    /// Whether the status is 3xx.
    public var isRedirection: Bool { 300..<400 ~= code }

    /// Whether a response with this status never has content (RFC 9110 §6.4.1).
    public var hasNoContent: Bool {
        code == 204 || code == 205 || code == 304 || 100..<200 ~= code
    }

    /// Whether a message with this status always ends after the head (RFC 9112 §6.3).
    ///
    /// The value is false for a 205, whose head may declare content.
    public var endsWithHead: Bool { hasNoContent && code != 205 }

    /// The status 200.
    public static let ok = Self(200)
    /// The status 201.
    public static let created = Self(201)
    /// The status 202.
    public static let accepted = Self(202)
    /// The status 204.
    public static let noContent = Self(204)
    /// The status 206.
    public static let partialContent = Self(206)
    /// The status 301.
    public static let movedPermanently = Self(301)
    /// The status 302.
    public static let found = Self(302)
    /// The status 303.
    public static let seeOther = Self(303)
    /// The status 304.
    public static let notModified = Self(304)
    /// The status 307.
    public static let temporaryRedirect = Self(307)
    /// The status 308.
    public static let permanentRedirect = Self(308)
    /// The status 400.
    public static let badRequest = Self(400)
    /// The status 401.
    public static let unauthorized = Self(401)
    /// The status 403.
    public static let forbidden = Self(403)
    /// The status 404.
    public static let notFound = Self(404)
    /// The status 409.
    public static let conflict = Self(409)
    /// The status 412.
    public static let preconditionFailed = Self(412)
    /// The status 416.
    public static let rangeNotSatisfiable = Self(416)
    /// The status 429 (RFC 6585 §4).
    public static let tooManyRequests = Self(429)
    /// The status 500.
    public static let internalServerError = Self(500)
    /// The status 502.
    public static let badGateway = Self(502)
    /// The status 503.
    public static let serviceUnavailable = Self(503)
    /// The status 504.
    public static let gatewayTimeout = Self(504)
}

extension HTTPStatus: ExpressibleByIntegerLiteral {
    /// Creates a status from a literal code.
    public init(integerLiteral value: Int) { self.init(value) }
}

extension HTTPStatus: CustomStringConvertible {
    /// The code and the registered phrase, if there is one, for example `404 Not Found`.
    public var description: String { reasonPhrase.isEmpty ? "\(code)" : "\(code) \(reasonPhrase)" }

    /// The phrase of the IANA registry, or an empty string; the phrase of the server is dropped.
    public var reasonPhrase: String { Self.phrases[code] ?? "" }

    private static let phrases: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information",
        204: "No Content", 205: "Reset Content", 206: "Partial Content", 207: "Multi-Status",
        208: "Already Reported", 226: "IM Used",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other",
        304: "Not Modified", 305: "Use Proxy", 307: "Temporary Redirect",
        308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden",
        404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
        407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict",
        410: "Gone", 411: "Length Required", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
        416: "Range Not Satisfiable", 417: "Expectation Failed", 421: "Misdirected Request",
        422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency", 425: "Too Early",
        426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
        503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
        506: "Variant Also Negotiates", 507: "Insufficient Storage", 508: "Loop Detected",
        511: "Network Authentication Required",
    ]
}
