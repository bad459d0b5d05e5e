// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension HTTPHeaders {
    /// A field name, which is compared without regard to case and sent with its original spelling.
    public struct Name: RawRepresentable, Sendable {
        /// The name with its original spelling.
        public let rawValue: String

        /// Creates a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Creates a name.
        public init(_ rawValue: String) { self.rawValue = rawValue }

        /// The name in lower case, as HTTP/2 sends it.
        public var lowercased: String { rawValue.lowercased() }
    }
}

extension HTTPHeaders.Name: Hashable {
    /// Whether two names are equal, ignoring case.
    public static func == (left: Self, right: Self) -> Bool {
        Grammar.equalsIgnoringCase(left.rawValue, right.rawValue)
    }

    /// Hashes the name in lower case.
    public func hash(into hasher: inout Hasher) {
        for byte in rawValue.utf8 { hasher.combine(Grammar.lowercased(byte)) }
    }
}

extension HTTPHeaders.Name: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates a name from a literal.
    public init(stringLiteral value: String) { self.init(value) }

    /// The name with escaped control characters, which could otherwise forge a log line.
    public var description: String { Grammar.escaped(rawValue) }
}

extension HTTPHeaders.Name {
    /// The field `Accept`.
    public static let accept = Self("Accept")
    /// The field `Accept-Charset`.
    public static let acceptCharset = Self("Accept-Charset")
    /// The field `Accept-Encoding`.
    public static let acceptEncoding = Self("Accept-Encoding")
    /// The field `Accept-Language`.
    public static let acceptLanguage = Self("Accept-Language")
    /// The field `Accept-Ranges`.
    public static let acceptRanges = Self("Accept-Ranges")
    /// The field `Age`.
    public static let age = Self("Age")
    /// The field `Allow`.
    public static let allow = Self("Allow")
    /// The field `Authorization`.
    public static let authorization = Self("Authorization")
    /// The field `Cache-Control`.
    public static let cacheControl = Self("Cache-Control")
    /// The field `Connection`.
    public static let connection = Self("Connection")
    /// The field `Content-Disposition`.
    public static let contentDisposition = Self("Content-Disposition")
    /// The field `Content-Encoding`.
    public static let contentEncoding = Self("Content-Encoding")
    /// The field `Content-Language`.
    public static let contentLanguage = Self("Content-Language")
    /// The field `Content-Length`.
    public static let contentLength = Self("Content-Length")
    /// The field `Content-Location`.
    public static let contentLocation = Self("Content-Location")
    /// The field `Content-Range`.
    public static let contentRange = Self("Content-Range")
    /// The field `Content-Type`.
    public static let contentType = Self("Content-Type")
    /// The field `Cookie`.
    public static let cookie = Self("Cookie")
    /// The field `Date`.
    public static let date = Self("Date")
    /// The field `ETag`.
    public static let eTag = Self("ETag")
    /// The field `Expect`.
    public static let expect = Self("Expect")
    /// The field `Expires`.
    public static let expires = Self("Expires")
    /// The field `Host`.
    public static let host = Self("Host")
    /// The field `Idempotency-Key`.
    public static let idempotencyKey = Self("Idempotency-Key")
    /// The field `If-Match`.
    public static let ifMatch = Self("If-Match")
    /// The field `If-Modified-Since`.
    public static let ifModifiedSince = Self("If-Modified-Since")
    /// The field `If-None-Match`.
    public static let ifNoneMatch = Self("If-None-Match")
    /// The field `If-Range`.
    public static let ifRange = Self("If-Range")
    /// The field `If-Unmodified-Since`.
    public static let ifUnmodifiedSince = Self("If-Unmodified-Since")
    /// The field `Keep-Alive`.
    public static let keepAlive = Self("Keep-Alive")
    /// The field `Last-Event-ID`.
    public static let lastEventID = Self("Last-Event-ID")
    /// The field `Last-Modified`.
    public static let lastModified = Self("Last-Modified")
    /// The field `Link`.
    public static let link = Self("Link")
    /// The field `Location`.
    public static let location = Self("Location")
    /// The field `Origin`.
    public static let origin = Self("Origin")
    /// The field `Pragma`.
    public static let pragma = Self("Pragma")
    /// The field `Proxy-Authenticate`.
    public static let proxyAuthenticate = Self("Proxy-Authenticate")
    /// The field `Proxy-Authorization`.
    public static let proxyAuthorization = Self("Proxy-Authorization")
    /// The field `Range`.
    public static let range = Self("Range")
    /// The field `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
    public static let rateLimit = Self("RateLimit")
    /// The field `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
    public static let rateLimitPolicy = Self("RateLimit-Policy")
    /// The field `Referer`.
    public static let referer = Self("Referer")
    /// The field `Retry-After`.
    public static let retryAfter = Self("Retry-After")
    /// The field `Server`.
    public static let server = Self("Server")
    /// The field `Set-Cookie`.
    public static let setCookie = Self("Set-Cookie")
    /// The field `TE`.
    public static let te = Self("TE")
    /// The field `traceparent` (W3C Trace Context).
    public static let traceparent = Self("traceparent")
    /// The field `tracestate` (W3C Trace Context).
    public static let tracestate = Self("tracestate")
    /// The field `Trailer`.
    public static let trailer = Self("Trailer")
    /// The field `Transfer-Encoding`.
    public static let transferEncoding = Self("Transfer-Encoding")
    /// The field `Upgrade`.
    public static let upgrade = Self("Upgrade")
    /// The field `User-Agent`.
    public static let userAgent = Self("User-Agent")
    /// The field `Vary`.
    public static let vary = Self("Vary")
    /// The field `WWW-Authenticate`.
    public static let wwwAuthenticate = Self("WWW-Authenticate")
}
