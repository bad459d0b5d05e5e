// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
import TurnpikeSupport

extension TestAnswer {
    /// Serves content completely or in ranges (RFC 9110 §14).
    ///
    /// For a `GET` with byte ranges, the response is 206 with one range, or with several ranges as
    /// `multipart/byteranges`. If no range is within the content, the status is 416. If a range is
    /// invalid, or `If-Range` contains another tag or date, the response is 200 with the whole
    /// content.
    /// - Parameters:
    ///   - content: The content.
    ///   - type: The media type of the content.
    ///   - tag: The entity tag, including quotes. A weak tag never satisfies `If-Range`.
    ///   - lastModified: The modification date, which `If-Range` may contain instead.
    /// - Returns: The answer.
    public static func ranges(
        of content: Data, type: MediaType = .octetStream, tag: String? = "\"v1\"",
        lastModified: Date? = nil
    ) -> TestAnswer {
        .handler { request in
            var headers: HTTPHeaders = ["Accept-Ranges": "bytes"]
            headers[.eTag] = tag
            headers[.lastModified] = lastModified.map(HTTPDate.format)
            let whole = TestAnswer.ok(data: content, type: type, headers: headers)
            guard request.method == .get, let field = request.headers[.range],
                isCurrent(request.headers[.ifRange], tag, headers[.lastModified]),
                let wanted = ByteRanges(parsing: field)
            else { return whole }
            let ranges = wanted.resolved(in: content.count)
            guard let first = ranges.first else {
                headers[.contentRange] = "bytes */\(content.count)"
                return .status(416, headers: headers)
            }
            if ranges.count == 1 {
                headers[.contentType] = type.description
                headers[.contentRange] = contentRange(first, of: content)
                return .status(206, headers: headers, body: slice(content, first))
            }
            headers[.contentType] = "multipart/byteranges; boundary=range"
            return .status(206, headers: headers, body: parts(ranges, of: content, type))
        }
    }

    // Tags use strong comparison, and dates must be equal (RFC 9110 §13.1.5).
    private static func isCurrent(_ field: String?, _ tag: String?, _ date: String?) -> Bool {
        guard let field else { return true }
        let isStrong = field.utf8.first == UInt8(ascii: "\"")
        return (isStrong && Grammar.areSame(field, tag)) || field == date
    }

    private static func contentRange(_ range: Range<Int>, of content: Data) -> String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(content.count)"
    }

    private static func slice(_ content: Data, _ range: Range<Int>) -> Data {
        Data(content.dropFirst(range.lowerBound).prefix(range.count))
    }

    private static func parts(
        _ ranges: [Range<Int>], of content: Data, _ type: MediaType
    ) -> Data {
        var body = Data()
        for range in ranges {
            body += Data(
                """
                --range\r\nContent-Type: \(type)\r\n\
                Content-Range: \(contentRange(range, of: content))\r\n\r\n
                """.utf8)
            body += slice(content, range) + Data("\r\n".utf8)
        }
        return body + Data("--range--\r\n".utf8)
    }
}

/// The ranges of a `Range` field (RFC 9110 §14.1.2).
private struct ByteRanges {
    private enum Item {
        case from(Int, through: Int?)
        case last(Int)
    }

    private var items: [Item] = []

    private static let limit = 64

    init?(parsing text: String) {
        guard text.lowercased().hasPrefix("bytes=") else { return nil }
        for piece in text.dropFirst(6).split(separator: ",") {
            let ends = Grammar.trimmed(piece).split(
                separator: "-", maxSplits: 1, omittingEmptySubsequences: false
            ).map(String.init)
            guard ends.count == 2, items.count < Self.limit else { return nil }
            let (first, last) = (Self.number(ends[0]), Self.number(ends[1]))
            switch (ends[0].isEmpty, ends[1].isEmpty, first, last) {
            case (true, false, _, let count?): items.append(.last(count))
            case (false, true, let first?, _): items.append(.from(first, through: nil))
            case (false, false, let first?, let last?) where first <= last:
                items.append(.from(first, through: last))
            default: return nil
            }
        }
        if items.isEmpty { return nil }
    }

    // A number above `Int.max` is still valid.
    private static func number(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else {
            return nil
        }
        return Int(text) ?? .max
    }

    func resolved(in length: Int) -> [Range<Int>] {
        items.compactMap { item in
            switch item {
            case .from(let first, let last):
                guard first < length else { return nil }
                return first..<min(last.map { $0 == .max ? $0 : $0 + 1 } ?? length, length)
            case .last(let count):
                return count == 0 || length == 0 ? nil : max(length - count, 0)..<length
            }
        }
    }
}
