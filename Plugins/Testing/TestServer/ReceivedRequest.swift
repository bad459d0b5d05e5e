// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// A request that a ``TestServer`` received.
public struct ReceivedRequest: Sendable {
    /// The method.
    public let method: HTTPMethod
    /// The request target as written in the request line.
    public let target: String
    /// The header fields in order.
    public let headers: HTTPHeaders
    /// The bytes of the head, unchanged.
    public let rawHead: Data
    /// The first MiB of the content without its framing.
    public internal(set) var body = Data()
    /// The number of bytes of the content.
    public internal(set) var bodyBytes: Int64 = 0
    /// Whether the content was received completely.
    public internal(set) var isComplete = true
    /// The trailer fields of a chunked request (RFC 9112 §7.1.2).
    public internal(set) var trailers = HTTPHeaders()
    /// The number of the connection, starting at 1.
    public let connection: Int

    /// The path of the target, without the query.
    public var path: String {
        String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") }))
    }

    /// The query of the target, or nil.
    public var query: String? {
        let rest = target.utf8.drop { $0 != UInt8(ascii: "?") }
        return rest.isEmpty ? nil : String(Substring(rest.dropFirst()))
    }

    init?(head: Data, connection: Int) {
        // The code splits bytes, because a delimiter and a combining mark form one character.
        let lines = Self.lines(of: head)
        let parts = lines[0].split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2].starts(with: "HTTP/1.".utf8) else { return nil }
        method = HTTPMethod(String(decoding: parts[0], as: UTF8.self))
        target = String(decoding: parts[1], as: UTF8.self)
        var headers = HTTPHeaders()
        for line in lines.dropFirst() where !line.isEmpty {
            guard headers.append(line: line) else { return nil }
        }
        self.headers = headers
        rawHead = head
        self.connection = connection
    }

    private static func lines(of head: Data) -> [Data] {
        var lines: [Data] = []
        var rest = head[...]
        while let end = rest.range(of: Data("\r\n".utf8)) {
            lines.append(rest[..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        return lines + [rest]
    }

    /// The content as text, or nil if the content is not UTF-8.
    public var text: String? { String(validating: body, as: UTF8.self) }

    /// Returns the content as JSON.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the content is not JSON.
    public func json() throws -> JSONValue { try JSONValue(parsing: body) }

    /// The request as JSON, for the response of ``TestAnswer/echo``.
    var echo: JSONValue {
        [
            "method": .string(method.rawValue), "target": .string(target),
            "headers": .array(headers.map { [.string($0.name.rawValue), .string($0.value)] }),
            "body": .string(String(decoding: body, as: UTF8.self)),
            "bodyBytes": .number(JSONNumber(bodyBytes)),
            "trailers": .array(trailers.map { [.string($0.name.rawValue), .string($0.value)] }),
        ]
    }
}

extension HTTPHeaders {
    /// Appends a field line, or returns false if the line is not a field line.
    mutating func append(line: Data) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
        append(
            Name(String(decoding: line[..<colon], as: UTF8.self)),
            String(decoding: line[(colon + 1)...], as: UTF8.self))
        return true
    }
}
