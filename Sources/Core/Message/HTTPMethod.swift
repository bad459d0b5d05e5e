/// A request method (RFC 9110 §9), compared case-sensitively.
///
/// Any token is a method; one that is not a token is refused with
/// ``ClientError/Code/invalidRequest`` before anything is sent.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The method as it stands in the request line.
    public let rawValue: String

    /// Creates a method from its name, spelled as it is to be sent.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates a method from its name, spelled as it is to be sent.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Transfers a representation of the target.
    public static let get = Self("GET")
    /// Transfers the header section alone.
    public static let head = Self("HEAD")
    /// Has the target process the content.
    public static let post = Self("POST")
    /// Replaces the target's state with the content.
    public static let put = Self("PUT")
    /// Changes part of the target's state (RFC 5789).
    public static let patch = Self("PATCH")
    /// Removes the target's association with its state.
    public static let delete = Self("DELETE")
    /// Asks for the communication options.
    public static let options = Self("OPTIONS")
    /// Loops the request back.
    public static let trace = Self("TRACE")
    /// Opens a tunnel.
    public static let connect = Self("CONNECT")
    /// A safe method with content (draft-ietf-httpbis-safe-method-w-body).
    public static let query = Self("QUERY")

    /// Whether the method asks for no change of state (RFC 9110 §9.2.1).
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }

    /// Whether sending it twice has the effect of sending it once (RFC 9110 §9.2.2).
    public var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    package var isValid: Bool { Grammar.isToken(rawValue) }
}

extension HTTPMethod: ExpressibleByStringLiteral {
    /// Creates a method from a literal.
    public init(stringLiteral value: String) { self.init(value) }
}

extension HTTPMethod: CustomStringConvertible, CustomReflectable {
    /// The method's name; what is no token is not shown, for it may be anything, a secret too.
    public var description: String { isValid ? rawValue : "(invalid method)" }

    /// What a dump shows: no more than ``description``.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: [description]) }
}
