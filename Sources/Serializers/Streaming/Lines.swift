import Foundation
public import TurnpikeCore

/// The lines of a response, as they come: text in UTF-8, ended by LF or CRLF, without the mark that
/// may stand before the first.
///
/// ```swift
/// for try await line in client.get("log").lines() { print(line) }
/// ```
///
/// Nothing is sent before the first line is asked for, and nothing is read ahead of the reader but
/// what the transport buffers. A line longer than the limit is
/// ``/TurnpikeCore/ClientError/Code/tooLarge``, one that is no UTF-8
/// ``/TurnpikeCore/ClientError/Code/serialization``; both name its number. A body that breaks off
/// gives its whole lines, then the error.
public struct Lines: AsyncSequence, Sendable {
    /// A line.
    public typealias Element = String
    /// Any error.
    public typealias Failure = any Error

    private let source: StreamSource

    init(_ source: StreamSource) { self.source = source }

    /// Reads lines.
    ///
    /// Dropping it ends the transfer.
    public struct AsyncIterator: AsyncIteratorProtocol {
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

        /// The next line, or nil at the end.
        public mutating func next() async throws -> String? { try await records.next() }

        /// The next line, or nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
            try await records.next()
        }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source) }
}

extension Call {
    /// The lines of the response, as they come.
    public func lines() -> Lines { Lines(StreamSource(self)) }
}

extension ResponseBody {
    /// The lines of the body, as they come.
    /// - Parameter maxBytes: The most bytes of one line.
    /// - Returns: A sequence of lines.
    public func lines(maxBytes: Int = LineLimit.defaultValue) -> Lines {
        Lines(StreamSource(self, maxBytes: maxBytes))
    }
}

/// Where a stream of records comes from: a call that is sent when the first is asked for, or a
/// body.
struct StreamSource: Sendable {
    /// A stream whose head has come.
    struct Opened: Sendable {
        let body: ResponseBody
        let maxBytes: Int
        /// Lets an error tell of the exchange.
        var complete: @Sendable (any Error) -> any Error = { $0 }
    }

    let open: @Sendable () async throws -> Opened

    init(_ call: Call) {
        open = {
            let opened = try await call.serialize(with: OpeningSerializer())
            return Opened(body: opened.response.body, maxBytes: opened.maxBytes) {
                opened.response.completing($0)
            }
        }
    }

    init(_ body: ResponseBody, maxBytes: Int) {
        open = { Opened(body: body, maxBytes: maxBytes) }
    }
}

/// Hands a response out as it begins, with the call's limit on lines and events.
struct OpeningSerializer: ResponseSerializer {
    /// Throws to refuse the response.
    var check: @Sendable (ResponseHead) throws -> Void = { _ in }

    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> (response: Response, maxBytes: Int) {
        try check(response.head)
        return (response, context.maxLineBytes)
    }
}

/// Reads lines from a source and makes records of them.
// SAFETY: the bytes of a line are lent to `make` alone, while they are there.
@safe struct RecordReader<Record> {
    private let source: StreamSource
    private let make: (UnsafeRawBufferPointer, Int) throws -> Record?
    private var splitter: LineSplitter?
    private var chunks: ResponseBody.AsyncIterator?
    private var complete: (any Error) -> any Error = { $0 }
    private var hasEnded = false

    /// Creates a reader.
    /// - Parameters:
    ///   - source: Where the lines come from.
    ///   - make: Makes a record of a line and its number; nil passes the line over.
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

    // Whole lines in the present chunk, up to one that is a record.
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
