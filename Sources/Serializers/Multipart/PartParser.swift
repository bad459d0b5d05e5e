import Foundation
import TurnpikeCore

/// Cuts multipart content into parts, in time linear in its size.
struct PartParser {
    private let delimiter: [UInt8]
    private let maxBytes: Int
    private var buffer: [UInt8]
    // Where the part begins, and up to where no delimiter was found.
    private var start = 0
    private var searched = 0
    private var isInPart = false

    /// Whether the closing boundary was found.
    private(set) var hasEnded = false

    private static let maxHeaderBytes = 16_384
    // Behind a boundary (RFC 2046 §5.1.1).
    private static let maxBlanks = 256

    init(_ head: ResponseHead, maxBytes: Int) throws {
        let type = head.headers[.contentType].flatMap { MediaType(parsing: $0) }
        guard let type, type.type == "multipart", let boundary = type[parameter: "boundary"],
            (1...200).contains(boundary.utf8.count)
        else {
            throw ClientError(
                .serialization, "the response is not multipart with a boundary", response: head)
        }
        delimiter = Array("\r\n--\(boundary)".utf8)
        self.maxBytes = maxBytes
        // The first boundary stands at the very beginning, or behind a preamble.
        buffer = [0x0D, 0x0A]
    }

    mutating func append(_ chunk: Data) {
        if start > 65_536, start > buffer.count / 2 {
            buffer.removeFirst(start)
            searched -= start
            start = 0
        }
        buffer += chunk
    }

    /// The next whole part, or nil where more bytes are needed, or none will come.
    mutating func next() throws -> ReceivedPart? {
        while !hasEnded {
            guard let found = find() else {
                let pending = buffer.count - start
                // The limit may be as large as a number can be.
                if isInPart, pending - Self.maxHeaderBytes > maxBytes { throw tooLarge() }
                if !isInPart {
                    // A preamble is not kept.
                    start = max(start, buffer.count - delimiter.count - 2)
                    searched = max(searched, start)
                }
                return nil
            }
            guard let lineEnd = endOfLine(after: found + delimiter.count) else { return nil }
            let wasInPart = isInPart
            let content = buffer[start..<found]
            switch lineEnd {
            case .closing: hasEnded = true
            case .next(let position):
                isInPart = true
                start = position
                searched = position
            case .none:
                searched = found + 1
                continue
            }
            if wasInPart { return try part(content) }
        }
        return nil
    }

    private enum LineEnd {
        case closing
        case next(Int)
        case none
    }

    /// What stands behind a delimiter: `--`, or blanks and a line's end; nil where it is not there
    /// yet.
    private func endOfLine(after position: Int) -> LineEnd? {
        var position = position
        if position + 1 < buffer.count, buffer[position] == UInt8(ascii: "-"),
            buffer[position + 1] == UInt8(ascii: "-")
        {
            return .closing
        }
        let limit = position + Self.maxBlanks
        while position < buffer.count, Grammar.isBlank(buffer[position]) { position += 1 }
        if position > limit { return LineEnd.none }
        guard position + 1 < buffer.count else { return nil }
        // The line's end is kept: it may begin the next delimiter of a part without anything.
        return buffer[position] == 0x0D && buffer[position + 1] == 0x0A
            ? .next(position) : LineEnd.none
    }

    private mutating func find() -> Int? {
        let last = buffer.count - delimiter.count
        while searched <= last {
            let candidate = buffer[searched...last].firstIndex(of: 0x0D) ?? last + 1
            searched = candidate
            if candidate > last { break }
            if buffer[candidate...].starts(with: delimiter) { return candidate }
            searched += 1
        }
        return nil
    }

    /// A part from its bytes, which begin with the line's end behind the boundary.
    private func part(_ bytes: ArraySlice<UInt8>) throws -> ReceivedPart {
        var headers = HTTPHeaders()
        var rest = bytes.dropFirst(2)
        var headerBytes = 0
        while !rest.isEmpty {
            let line = Self.fieldLine(&rest)
            if line.isEmpty { break }
            headerBytes += line.count
            guard headerBytes <= Self.maxHeaderBytes else {
                throw ClientError(.tooLarge, "the header fields of a part are too large")
            }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                throw ClientError(.serialization, "a header field of a part has no colon")
            }
            headers.append(
                HTTPHeaders.Name(String(decoding: line[..<colon], as: UTF8.self)),
                String(decoding: line[(colon + 1)...], as: UTF8.self))
        }
        if rest.count > maxBytes { throw tooLarge() }
        return ReceivedPart(headers: headers, content: Data(rest))
    }

    /// Takes a field line without its end; one that is folded (RFC 5322 §2.2.3) with all that belongs
    /// to it.
    private static func fieldLine(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var line: [UInt8] = []
        while true {
            let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
            line += rest[..<end]
            rest = end < rest.endIndex ? rest[(end + 1)...] : rest[rest.endIndex...]
            if line.last == 0x0D { line.removeLast() }
            guard !line.isEmpty, let next = rest.first, Grammar.isBlank(next) else { return line }
        }
    }

    private func tooLarge() -> ClientError {
        ClientError(.tooLarge, "a part has more than \(maxBytes) bytes; raise the limit")
    }
}
