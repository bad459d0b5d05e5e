// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Date
import TurnpikeCore
import TurnpikeSupport

/// An access token (RFC 6750), its expiry date and its refresh token.
///
/// Printing or dumping a token shows no secret.
public struct BearerToken: Sendable, Hashable {
    private let access: Secret
    private let refresh: Secret?

    /// When the token expires, on the wall clock; nil if that is not known.
    public let expires: Date?

    /// Creates a token.
    /// - Parameters:
    ///   - value: The text that is sent. An empty text is not sent: the token is refreshed first,
    ///     or the call fails as ``/TurnpikeCore/ClientError/Code/auth``.
    ///   - expires: When the token expires.
    ///   - refreshToken: The refresh token that gets the next access token (RFC 6749 §1.5).
    public init(_ value: String, expires: Date? = nil, refreshToken: String? = nil) {
        access = Secret(value)
        refresh = refreshToken.map { Secret($0) }
        self.expires = expires
    }

    /// The text that is sent.
    public var value: String { access.value }

    /// Whether the text is empty, so that there is nothing to send.
    var isBlank: Bool { Grammar.trimmed(value).isEmpty }

    /// The refresh token that gets the next access token, or nil.
    public var refreshToken: String? { refresh?.value }
}

extension BearerToken: CustomStringConvertible {
    /// The expiry date, and no secret.
    public var description: String {
        "a bearer token" + (expires.map { " until \($0)" } ?? "")
    }
}
