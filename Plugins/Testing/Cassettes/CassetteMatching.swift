public import TurnpikeCore

/// What makes a request the same as a recorded one: method, URL and content, after redaction.
///
/// The order of query items and form fields does not count, nor do the order and spacing of JSON
/// and the boundary of multipart content. The fragment of a URL is not compared, nor is content
/// that the recording does not have.
///
/// ```swift
/// var options = CassetteOptions()
/// options.matching = CassetteMatching(headers: [.accept], ignoring: ["nonce", "sent_at"])
/// ```
public struct CassetteMatching: Sendable, Hashable {
    /// Whether scheme, host and port must be the same.
    public var origin: Bool
    /// Whether the content must be the same.
    public var content: Bool
    /// The header fields whose values must be the same.
    public var headers: [HTTPHeaders.Name]
    /// The names of query items, form fields and JSON members that do not count.
    public var ignoring: Set<String>

    /// Creates rules.
    public init(
        origin: Bool = true, content: Bool = true, headers: [HTTPHeaders.Name] = [],
        ignoring: Set<String> = []
    ) {
        self.origin = origin
        self.content = content
        self.headers = headers
        self.ignoring = ignoring
    }
}
