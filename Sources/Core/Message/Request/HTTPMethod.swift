// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A request method (RFC 9110 §9), compared case-sensitively.
///
/// Any token is a method. If a method is not a token, the call fails with
/// ``ClientError/Code/invalidRequest`` before anything is sent.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The name of the method, with the case of the request line.
    public let rawValue: String

    /// Creates a method from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates a method from its name.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Requests a representation of the target.
    public static let get = Self("GET")
    /// Requests only the header section.
    public static let head = Self("HEAD")
    /// Asks the target to process the content.
    public static let post = Self("POST")
    /// Replaces the state of the target with the content.
    public static let put = Self("PUT")
    /// Changes a part of the state of the target (RFC 5789).
    public static let patch = Self("PATCH")
    /// Removes the association between the target and its state.
    public static let delete = Self("DELETE")
    /// Requests the communication options.
    public static let options = Self("OPTIONS")
    /// Requests that the server returns the received request.
    public static let trace = Self("TRACE")
    /// Opens a tunnel.
    public static let connect = Self("CONNECT")
    /// Sends a query as the content of a safe request (draft-ietf-httpbis-safe-method-w-body).
    public static let query = Self("QUERY")

    /// Whether the method requests no change of state (RFC 9110 §9.2.1).
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }

    /// Whether two equal requests have the same effect as one request (RFC 9110 §9.2.2).
    public var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    var isValid: Bool { Grammar.isToken(rawValue) }
}

extension HTTPMethod: ExpressibleByStringLiteral {
    /// Creates a method from a literal.
    public init(stringLiteral value: String) { self.init(value) }
}

extension HTTPMethod: DescriptionReflectable {
    /// The name of the method; a name that is not a token is hidden, because it may be a secret.
    public var description: String { isValid ? rawValue : "(invalid method)" }
}
