// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// The reason why a token endpoint returned no token (RFC 6749 §5.2).
///
/// This error is the cause of a ``/TurnpikeCore/ClientError`` with the code
/// ``/TurnpikeCore/ClientError/Code/auth``.
public struct OAuthError: TokenRefusal, Sendable, Hashable {
    /// The error code in the response of the server.
    ///
    /// Servers may define additional codes.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The code, as written in the response.
        public let rawValue: String

        /// Creates a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The code, as written in the response.
        public var description: String { rawValue }

        /// The request is malformed.
        public static let invalidRequest = Self(rawValue: "invalid_request")
        /// The server does not know the client, or the client's secret is wrong.
        public static let invalidClient = Self(rawValue: "invalid_client")
        /// The refresh token or another grant is no longer valid.
        ///
        /// The user must sign in again.
        public static let invalidGrant = Self(rawValue: "invalid_grant")
        /// The client may not use this kind of grant.
        public static let unauthorizedClient = Self(rawValue: "unauthorized_client")
        /// The server does not know this kind of grant.
        public static let unsupportedGrantType = Self(rawValue: "unsupported_grant_type")
        /// The scope is unknown, malformed, or larger than the granted scope.
        public static let invalidScope = Self(rawValue: "invalid_scope")
        /// The response is not a response of a token endpoint.
        public static let invalidResponse = Self(rawValue: "invalid_response")
        /// There is no refresh token, and the provider sent no request.
        public static let missingRefreshToken = Self(rawValue: "missing_refresh_token")
        /// The authorization code was already sent, and a code works only once.
        ///
        /// The provider sent no second request. Start a new authorization.
        public static let spentAuthorizationCode = Self(rawValue: "spent_authorization_code")
    }

    /// The error code.
    public let code: Code
    /// The status of the response, or nil without a response.
    public let status: HTTPStatus?
    /// The server's message for developers (`error_description`), at most 1 KiB.
    ///
    /// The message may contain any text, and is never printed.
    public let detail: String?

    /// The time after which the endpoint accepts another request.
    public internal(set) var retryAfter: Duration?

    /// Creates an error, for providers outside of this module.
    public init(_ code: Code, status: HTTPStatus? = nil, detail: String? = nil) {
        self.code = code
        self.status = status
        self.detail = detail
    }

    init(status: HTTPStatus, content: Data, retryAfter: Duration? = nil) {
        let answer = (try? JSONValue(parsing: content))?.object
        let code = answer?["error"]?.string.flatMap { Self.isCode($0) ? Code(rawValue: $0) : nil }
        self.init(
            code ?? .invalidResponse, status: status,
            detail: answer?["error_description"]?.string.map {
                Grammar.beginning(of: $0, upTo: 1024)
            })
        self.retryAfter = retryAfter
    }

    // A code is a short lower-case name. The check prevents the output of a secret as a code.
    private static func isCode(_ text: String) -> Bool {
        (1...40).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 &- 0x61 < 26 || $0 == UInt8(ascii: "_") }
    }
}

extension OAuthError: DescriptionReflectable {
    /// The code and the status.
    public var description: String {
        if code == .spentAuthorizationCode {
            return "\(code): the authorization code was already sent, and a code works only"
                + " once; begin a new authorization"
        }
        let answer = status.map { " (the token endpoint answered \($0))" } ?? ""
        return "\(code)\(answer)"
    }
}
