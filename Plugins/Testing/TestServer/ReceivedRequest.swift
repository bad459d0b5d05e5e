public import Foundation
public import TurnpikeCore

/// A request as it came to a ``TestServer``.
public struct ReceivedRequest: Sendable {
    /// The method.
    public let method: HTTPMethod
    /// The request target as it stood in the request line.
    public let target: String
    /// The header fields in the order in which they came.
    public let headers: HTTPHeaders
    /// The head, byte for byte.
    public let rawHead: Data
    /// The content without its framing, up to the first MiB.
    public internal(set) var body = Data()
    /// The number of bytes of the content.
    public internal(set) var bodyBytes: Int64 = 0
    /// Whether the content came to its end.
    public internal(set) var isComplete = true
    /// The fields behind the content of a request in chunks (RFC 9112 §7.1.2).
    public internal(set) var trailers = HTTPHeaders()
    /// The connection it came on, numbered from 1.
    public let connection: Int

    /// The path of the target, without the query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The query of the target, or nil.
    public var query: String? {
        target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    init?(head: Data, connection: Int) {
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        let parts = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2].hasPrefix("HTTP/1.") else { return nil }
        method = HTTPMethod(String(parts[0]))
        target = String(parts[1])
        var headers = HTTPHeaders()
        for line in lines.dropFirst() where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            headers.append(
                HTTPHeaders.Name(String(line[..<colon])), String(line[line.index(after: colon)...]))
        }
        self.headers = headers
        rawHead = head
        self.connection = connection
    }

    /// The request as JSON: what ``TestAnswer/echo`` answers.
    public var json: JSONValue {
        [
            "method": .string(method.rawValue), "target": .string(target),
            "headers": .array(headers.map { [.string($0.name.rawValue), .string($0.value)] }),
            "body": .string(String(decoding: body, as: UTF8.self)),
            "bodyBytes": .number(JSONNumber(bodyBytes)),
        ]
    }
}
