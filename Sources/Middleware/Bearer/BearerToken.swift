public import struct Foundation.Date
import TurnpikeCore

/// An access token (RFC 6750), and what is known of it.
///
/// Printing or dumping one shows no secret.
public struct BearerToken: Sendable, Hashable {
    private let access: Secret
    private let refresh: Secret?

    /// When it ceases to be valid, on the wall clock; nil where that is not known.
    public let expires: Date?

    /// Creates a token.
    /// - Parameters:
    ///   - value: The text that is sent. An empty one is not: it is refreshed first, or fails the
    ///     call as ``/TurnpikeCore/ClientError/Code/auth``.
    ///   - expires: When it ceases to be valid.
    ///   - refreshToken: What its successor can be had with (RFC 6749 §1.5).
    public init(_ value: String, expires: Date? = nil, refreshToken: String? = nil) {
        access = Secret(value)
        refresh = refreshToken.map { Secret($0) }
        self.expires = expires
    }

    /// The text that is sent.
    public var value: String { access.value }

    /// Whether there is anything to send.
    var isBlank: Bool { Grammar.trimmed(value).isEmpty }

    /// What its successor can be had with, or nil.
    public var refreshToken: String? { refresh?.value }
}

extension BearerToken: CustomStringConvertible {
    /// The end of the token's life, and nothing else of it.
    public var description: String {
        "a bearer token" + (expires.map { " until \($0)" } ?? "")
    }
}
