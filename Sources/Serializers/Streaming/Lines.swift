// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

struct Lines: AsyncSequence, Sendable {
    private let source: StreamSource

    init(_ source: StreamSource) { self.source = source }

    struct AsyncIterator: AsyncIteratorProtocol {
        private var records: RecordReader<String>

        fileprivate init(_ source: StreamSource) {
            records = unsafe RecordReader(source) { bytes, number in
                guard let text = unsafe String(validating: bytes, as: UTF8.self) else {
                    throw ClientError(.serialization, "line \(number) is not valid UTF-8")
                }
                let isMarked = number == 1 && text.unicodeScalars.first == "\u{FEFF}"
                return isMarked ? String(text.unicodeScalars.dropFirst()) : text
            }
        }

        mutating func next() async throws -> String? { try await records.next() }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
            try await records.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source) }
}

extension Call {
    /// Returns the lines of the response as they arrive.
    ///
    /// Lines are UTF-8 text that ends with LF or CRLF. A byte order mark at the start is not part
    /// of the first line.
    ///
    /// ```swift
    /// for try await line in client.get("log").lines() { print(line) }
    /// ```
    ///
    /// The request is sent when the iterator reads the first line. Only the buffer of the transport
    /// is read in advance. If a line is longer than the limit, the iterator throws
    /// ``/TurnpikeCore/ClientError/Code/tooLarge``. If a line is not UTF-8, the iterator throws
    /// ``/TurnpikeCore/ClientError/Code/serialization``. Both errors contain the line number. If a
    /// body breaks off, the iterator returns the complete lines before the error.
    /// - Returns: A sequence of lines. The release of an iterator cancels the transfer.
    public func lines() -> some AsyncSequence<String, any Error> & Sendable {
        Lines(StreamSource(self))
    }
}

extension ResponseBody {
    /// Returns the lines of the body as they arrive; see ``TurnpikeCore/Call/lines()``.
    /// - Parameter maxBytes: The maximum number of bytes of a line.
    /// - Returns: A sequence of lines.
    public func lines(
        maxBytes: Int = 1_048_576
    ) -> some AsyncSequence<String, any Error> & Sendable {
        Lines(StreamSource(self, maxBytes: maxBytes))
    }
}

/// The source is a body, or a call that is sent when the first record is read.
struct StreamSource: Sendable {
    struct Opened: Sendable {
        let body: ResponseBody
        let maxBytes: Int
        var complete: @Sendable (any Error) -> any Error = { $0 }
    }

    let open: @Sendable () async throws -> Opened

    init(_ call: Call) {
        open = {
            let opened = try await call.serialize(with: HeadSerializer())
            return Opened(body: opened.response.body, maxBytes: opened.maxBytes) {
                opened.response.completing($0)
            }
        }
    }

    init(_ body: ResponseBody, maxBytes: Int) {
        open = { Opened(body: body, maxBytes: maxBytes) }
    }
}

struct HeadSerializer: ResponseSerializer {
    var accept: [MediaType] = []
    var check: @Sendable (ResponseHead) throws -> Void = { _ in }

    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> (response: Response, maxBytes: Int) {
        try check(response.head)
        return (response, context.maxLineBytes)
    }
}

/// Reads lines from a source and converts the lines to records.
// SAFETY: only `make` accesses the bytes of a line, and only during its execution.
@safe struct RecordReader<Record> {
    private let source: StreamSource
    private let make: (UnsafeRawBufferPointer, Int) throws -> Record?
    private var splitter: LineSplitter?
    private var chunks: ResponseBody.AsyncIterator?
    private var complete: (any Error) -> any Error = { $0 }
    private var hasEnded = false

    /// Converts each line and its number with `make`, which returns nil to skip the line.
    init(_ source: StreamSource, make: @escaping (UnsafeRawBufferPointer, Int) throws -> Record?) {
        self.source = source
        unsafe self.make = make
    }

    mutating func next() async throws -> Record? {
        if hasEnded { return nil }
        do {
            if splitter == nil {
                let opened = try await source.open()
                splitter = LineSplitter(maxBytes: opened.maxBytes)
                chunks = opened.body.makeAsyncIterator()
                complete = opened.complete
            }
            while true {
                if let record = try takeRecord() { return record }
                guard let chunk = try await chunks?.next() else {
                    end()
                    let number = (splitter?.number ?? 0) + 1
                    return try unsafe splitter?.rest { try unsafe make($0, number) } ?? nil
                }
                splitter?.append(chunk)
            }
        } catch {
            end()
            throw complete(error)
        }
    }

    private mutating func takeRecord() throws -> Record? {
        while true {
            let number = (splitter?.number ?? 0) + 1
            guard let record = try unsafe splitter?.next({ try unsafe make($0, number) }) else {
                return nil
            }
            if let record { return record }
        }
    }

    private mutating func end() {
        hasEnded = true
        chunks = nil
    }
}

struct JSONLines<Value: Sendable>: AsyncSequence, Sendable {
    private let source: StreamSource
    private let skipsInvalid: Bool
    private let decode: @Sendable (Data) throws -> Value

    init(
        _ source: StreamSource, skipsInvalid: Bool,
        decode: @escaping @Sendable (Data) throws -> Value
    ) {
        self.source = source
        self.skipsInvalid = skipsInvalid
        self.decode = decode
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        private var records: RecordReader<Value>

        fileprivate init(_ lines: JSONLines) {
            records = unsafe RecordReader(lines.source) { bytes, number in
                if unsafe bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) {
                    return nil
                }
                do {
                    return try lines.decode(unsafe Data(bytes))
                } catch {
                    if lines.skipsInvalid { return nil }
                    throw ClientError(
                        .serialization, "line \(number) cannot be read: \(Self.reason(error))",
                        underlying: error)
                }
            }
        }

        private static func reason(_ error: any Error) -> String {
            (error as? JSONSyntaxError)?.reason ?? "the value does not match the expected type"
        }

        mutating func next() async throws -> Value? { try await records.next() }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
            try await records.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension ResponseBody {
    /// Returns the JSON values of the body's lines as they arrive.
    ///
    /// See ``TurnpikeCore/Call/jsonLines(of:with:skippingInvalid:)``.
    /// - Parameters:
    ///   - maxBytes: The maximum number of bytes of a line.
    ///   - skippingInvalid: Whether lines that are not JSON are skipped.
    /// - Returns: A sequence of values.
    public func jsonLines(
        maxBytes: Int = 1_048_576, skippingInvalid: Bool = false
    ) -> some AsyncSequence<JSONValue, any Error> & Sendable {
        JSONLines(StreamSource(self, maxBytes: maxBytes), skipsInvalid: skippingInvalid) {
            try JSONValue(parsing: $0)
        }
    }
}

extension Call {
    /// Returns the JSON values of the response's lines as they arrive.
    ///
    /// See ``TurnpikeCore/Call/jsonLines(of:with:skippingInvalid:)``.
    /// - Parameter skippingInvalid: Whether lines that are not JSON are skipped.
    /// - Returns: A sequence of values.
    public func jsonLines(
        skippingInvalid: Bool = false
    ) -> some AsyncSequence<JSONValue, any Error> & Sendable {
        JSONLines(StreamSource(asking("application/x-ndjson")), skipsInvalid: skippingInvalid) {
            try JSONValue(parsing: $0)
        }
    }

    /// Returns the values of the response's lines (NDJSON), decoded from JSON, as they arrive.
    ///
    /// ```swift
    /// for try await event in client.get("events").jsonLines(of: Event.self) { handle(event) }
    /// ```
    ///
    /// Blank lines are skipped. An invalid line throws
    /// ``/TurnpikeCore/ClientError/Code/serialization`` with the line number, after the values of
    /// earlier lines, unless `skippingInvalid` is true.
    /// - Parameters:
    ///   - type: The type of a value.
    ///   - decoder: Decodes each line.
    ///   - skippingInvalid: Whether lines that cannot be decoded are skipped.
    /// - Returns: A sequence of values.
    public func jsonLines<Value: Decodable & Sendable>(
        of type: Value.Type, with decoder: any ValueDecoder = JSONValueDecoder(),
        skippingInvalid: Bool = false
    ) -> some AsyncSequence<Value, any Error> & Sendable {
        JSONLines(StreamSource(asking("application/x-ndjson")), skipsInvalid: skippingInvalid) {
            try decoder.decode(type, from: $0)
        }
    }

    func asking(_ type: MediaType) -> Call {
        var call = self
        call.request.headers.setIfAbsent(.accept, type.description + ", */*;q=0.5")
        return call
    }
}
