public import Foundation

/// One request that a ``MockTransport`` was asked to send.
///
/// ```swift
/// let sent = try #require(transport.sent(.post, "/users").first)
/// #expect(sent.request.headers[.contentType] == "application/json")
/// #expect(try sent.json()["name"] == "Ada")
/// ```
public struct MockExchange: Sendable {
    /// The request as the transport got it.
    public let request: Request
    /// The content that was sent.
    public let body: Data
    /// The trailer fields that were sent behind it.
    public let trailers: HTTPHeaders

    /// The content as text in UTF-8; nil where it is none.
    public var text: String? { String(validating: body, as: UTF8.self) }

    /// The content as JSON.
    /// - Throws: ``ClientError/Code/serialization`` where it is none.
    public func json() throws -> JSONValue { try JSONValue(parsing: body) }

    /// The content as the fields of a form, in order.
    public var form: [(name: String, value: String)] {
        (text ?? "").utf8.split(separator: UInt8(ascii: "&")).map { item in
            let parts = item.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
            ).map { part in
                let spaced = part.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
                let text = String(decoding: spaced, as: UTF8.self)
                return text.removingPercentEncoding ?? text
            }
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
    }

    /// The content as a value of a type, by Foundation's JSON decoder.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value { try decoder.decode(type, from: body) }

    /// The texts that stand in the named places of a pattern; nil where the path does not match.
    public func parameters(of pattern: PathPattern) -> [String: String]? {
        pattern.match(request.url.path(percentEncoded: true))
    }
}
