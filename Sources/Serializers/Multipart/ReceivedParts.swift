// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

struct ReceivedParts: AsyncSequence, Sendable {
    private let open: @Sendable () async throws -> (Response, Int)

    init(_ open: @escaping @Sendable () async throws -> (Response, Int)) { self.open = open }

    struct AsyncIterator: AsyncIteratorProtocol {
        private let open: @Sendable () async throws -> (Response, Int)
        private var parser: PartParser?
        private var chunks: ResponseBody.AsyncIterator?
        private var complete: (any Error) -> any Error = { $0 }
        private var hasEnded = false

        fileprivate init(_ open: @escaping @Sendable () async throws -> (Response, Int)) {
            self.open = open
        }

        mutating func next() async throws -> ReceivedPart? {
            try await next(isolation: nil)
        }

        mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> ReceivedPart? {
            if hasEnded { return nil }
            do {
                if parser == nil {
                    let (response, maxBytes) = try await open()
                    complete = { response.completing($0) }
                    parser = try PartParser(response.head, maxBytes: maxBytes)
                    chunks = response.body.makeAsyncIterator()
                }
                while true {
                    if let part = try parser?.next() { return part }
                    if parser?.hasEnded ?? true { break }
                    guard let chunk = try await chunks?.next() else {
                        throw ClientError(.incomplete, "the response ended inside a part")
                    }
                    parser?.append(chunk)
                }
                end()
                return nil
            } catch {
                let error = complete(error)
                end()
                throw error
            }
        }

        private mutating func end() {
            hasEnded = true
            chunks = nil
            parser = nil
            complete = { $0 }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(open) }
}

extension Call {
    /// Returns the parts of a multipart response as they arrive.
    ///
    /// The content type is `multipart/mixed`, `multipart/byteranges`, `multipart/x-mixed-replace`
    /// or another multipart type.
    ///
    /// ```swift
    /// for try await part in client.get("feed").parts() { show(part.type, part.content) }
    /// ```
    ///
    /// The request is sent when the iterator reads the first part. Each part is collected in
    /// memory. If a part is larger than the limit for lines and events, the iterator throws
    /// ``/TurnpikeCore/ClientError/Code/tooLarge``. The preamble and the epilogue are discarded. If
    /// a response ends within a part, the iterator returns the earlier parts, and throws
    /// ``/TurnpikeCore/ClientError/Code/incomplete``.
    /// - Returns: A sequence of parts. The release of an iterator cancels the transfer.
    public func parts() -> some AsyncSequence<ReceivedPart, any Error> & Sendable {
        ReceivedParts {
            try await serialize(with: HeadSerializer(accept: [MediaType("multipart", "*")]))
        }
    }
}

extension Response {
    /// Returns the parts of the response as they arrive; see ``TurnpikeCore/Call/parts()``.
    /// - Parameter maxBytes: The maximum number of bytes of a part.
    /// - Returns: A sequence of parts.
    public func parts(
        maxBytes: Int = 1_048_576
    ) -> some AsyncSequence<ReceivedPart, any Error> & Sendable {
        ReceivedParts { (self, maxBytes) }
    }
}

/// One part of a multipart response (RFC 2046 §5.1).
public struct ReceivedPart: Sendable {
    /// The header fields of the part.
    public let headers: HTTPHeaders
    /// The content of the part.
    public let content: Data

    /// The media type of the part, or `text/plain` if the part has no type.
    public var type: MediaType {
        headers[.contentType].flatMap { MediaType(parsing: $0) } ?? .plainText
    }
}

/// Splits multipart content into parts, in time linear in the size of the content.
struct PartParser {
    private let delimiter: [UInt8]
    private let maxBytes: Int
    private var buffer: [UInt8]
    // The start of the current part, and a position before which no delimiter occurs.
    private var start = 0
    private var searched = 0
    private var isInPart = false

    private(set) var hasEnded = false

    private static let maxHeaderBytes = 16_384
    // The maximum number of blanks after a boundary (RFC 2046 §5.1.1).
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
        // The first delimiter may be at the very beginning, without a line break before the
        // delimiter.
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

    /// Returns the next complete part, or nil if more bytes are needed or no part follows.
    mutating func next() throws -> ReceivedPart? {
        while !hasEnded {
            guard let found = find() else {
                let pending = buffer.count - start
                // The code subtracts, because an addition would overflow if the limit is `Int.max`.
                if isInPart, pending - Self.maxHeaderBytes > maxBytes { throw tooLarge() }
                if !isInPart {
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
        // The line break is not removed, because the line break after an empty part also begins the
        // next delimiter.
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
            headers.appendReceived(
                HTTPHeaders.Name(String(decoding: line[..<colon], as: UTF8.self)),
                String(decoding: line[(colon + 1)...], as: UTF8.self))
        }
        if let defect = headers.defect {
            throw ClientError(.serialization, "a header field of a part is invalid: \(defect)")
        }
        if rest.count > maxBytes { throw tooLarge() }
        return ReceivedPart(headers: headers, content: Data(rest))
    }

    /// Removes a field line, and returns the unfolded line (RFC 5322 §2.2.3) without a line break.
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
