// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Decides whether a request equals a recorded one, by method, URL and content after redaction.
///
/// These differences are ignored: the order of query items and form fields, the order and
/// whitespace of JSON, and the boundary of multipart content. The fragment of a URL is not
/// compared, and neither is content that the recording does not have.
///
/// ```swift
/// var options = CassetteOptions()
/// options.matching = CassetteMatching(headers: [.accept], ignoring: ["nonce", "sent_at"])
/// ```
public struct CassetteMatching: Sendable, Hashable {
    /// Whether scheme, host and port must be equal.
    public var origin: Bool
    /// Whether the content must be equal.
    public var content: Bool
    /// The header fields whose values must be equal.
    public var headers: [HTTPHeaders.Name]
    /// The names of query items, form fields and JSON members that are ignored.
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
