// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// One request that a ``MockTransport`` was asked to send.
///
/// ```swift
/// let sent = try #require(transport.sent(.post, "/users").first)
/// #expect(sent.request.headers[.contentType] == "application/json")
/// #expect(try sent.json()["name"] == "Ada")
/// ```
public struct MockExchange: Sendable {
    /// The request as the transport received it.
    public let request: Request
    /// The content that was sent.
    public let body: Data
    /// The trailer fields that were sent after the content.
    public let trailers: HTTPHeaders

    /// The place to which a real transport would have connected instead of the URL's host; nil for
    /// the host itself.
    public var connectTarget: ConnectTarget? { request.options.connectTarget }

    /// The content as UTF-8 text, or nil if it is not valid UTF-8.
    public var text: String? { String(validating: body, as: UTF8.self) }

    /// Returns the content as JSON.
    /// - Throws: ``ClientError/Code/serialization`` if it is not JSON.
    public func json() throws -> JSONValue { try JSONValue(parsing: body) }

    /// The content as form fields, in order.
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

    /// Decodes the content with a JSON decoder.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value { try decoder.decode(type, from: body) }

    /// Returns the values of the named segments of a pattern, or nil if the path does not match.
    public func parameters(of pattern: PathPattern) -> [String: String]? {
        pattern.match(request.targetURI.path)
    }
}
