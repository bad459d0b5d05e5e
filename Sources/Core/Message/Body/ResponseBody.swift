// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The content of a response, which one reader reads chunk by chunk.
///
/// ```swift
/// for try await chunk in response.body { file.write(chunk) }
/// ```
///
/// Before the reader asks for a chunk, only the bounded buffer of the transport is filled. A body
/// can be read once: a second iteration throws ``ClientError/Code/unsupported``. A body ends
/// exactly once (``ResponseBodyEnd``). The release of the last reference to the body or its
/// iterator ends the transfer, and closes the connection or returns it to the pool. If the reader's
/// task is cancelled, the transfer ends at once, and the reader gets `CancellationError`.
///
/// A gate changes a body with ``transforming(_:finish:)``, or observes a body with ``onPull(_:)``,
/// ``onChunk(_:)`` and ``onEnd(_:)``.
public struct ResponseBody: Sendable {
    let storage: ResponseBodyStorage

    init(storage: ResponseBodyStorage) { self.storage = storage }

    /// A body without content.
    public static var empty: ResponseBody { ResponseBody(Data()) }

    /// Creates a body from bytes in memory.
    public init(_ data: Data) { storage = ResponseBodyStorage(data: data) }

    /// Creates a body from bytes in memory, followed by trailer fields.
    public init(_ data: Data, trailers: HTTPHeaders) {
        storage = ResponseBodyStorage(data: data, trailers: trailers)
    }

    /// Creates a body from a source, for transports and gates.
    /// - Parameters:
    ///   - source: The source of the chunks.
    ///   - length: The expected number of bytes, if known.
    ///   - encodedLength: The number of bytes before decoding, if known.
    public init(
        source: any ResponseBodySource, length: Int64? = nil, encodedLength: Int64? = nil
    ) {
        storage = ResponseBodyStorage(.source(source), length: length, encodedLength: encodedLength)
    }

    /// Creates a body from a sequence of chunks.
    ///
    /// A separate task waits for each element of the sequence. A cancellation, a deadline or a
    /// release of the body therefore ends the wait at once, even if the sequence still waits.
    public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, length: Int64? = nil)
    where Chunks.Element == Data {
        self.init(source: SequenceSource(chunks), length: length)
    }

    /// Creates a body from changed chunks of another body, with the trailer fields of that body.
    /// - Parameters:
    ///   - chunks: The chunks, each of which is read in a separate task.
    ///   - length: The expected number of bytes, if known.
    ///   - body: The other body.
    public init<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64?, trailersOf body: ResponseBody
    ) where Chunks.Element == Data {
        self.init(source: SequenceSource(chunks, trailersOf: body), length: length)
    }

    /// The number of bytes of the body, or nil if unknown.
    public var length: Int64? { storage.length }

    /// The number of bytes before decoding, or nil if unknown.
    public var encodedLength: Int64? { storage.encodedLength }

    /// The number of encoded bytes from which the chunks so far were decoded.
    ///
    /// The number may include bytes that are not decoded yet. The number is nil if the content is
    /// not encoded, or if the transport does not count the bytes (URLSession).
    public var encodedBytes: Int64? { storage.encodedBytes }

    /// How much of the content has arrived, read or unread.
    public var arrival: ResponseBodyArrival { storage.arrival }

    /// The trailer fields (RFC 9110 §6.5), which are available after the content has been read.
    ///
    /// Content that broke off has no trailer fields. The fields are never merged into the header
    /// section. Fields that frame, route, authenticate, control or describe the message (§6.5.1),
    /// such as `Content-Length` and `Set-Cookie`, are left out, because they are valid only before
    /// the content. If the transport does not have ``TransportCapabilities/trailers``, there are no
    /// fields. If the request does not contain `TE: trailers`, a server may leave out the fields.
    public var trailers: HTTPHeaders { storage.trailers }

    /// Whether the body has no content.
    public var isEmpty: Bool { storage.length == 0 }

    /// Ends the transfer if the body has not ended; a waiting reader gets the error of the reason.
    public func cancel(_ reason: CancelReason = .handle) { storage.cancel(reason) }

    /// A reference that can end the body but does not retain it, for example for a timer.
    public var canceller: Canceller { Canceller(storage: storage) }

    /// A reference that can end a body but does not retain it.
    public struct Canceller: Sendable {
        private weak let storage: ResponseBodyStorage?

        init(storage: ResponseBodyStorage) { self.storage = storage }

        /// Ends the transfer, if the body still exists.
        public func cancel(_ reason: CancelReason) { storage?.cancel(reason) }

        var isUnderWay: Bool { storage?.arrival == .underWay }

        /// The trailer fields of the body, for an end handler that must not retain the body.
        public var trailers: HTTPHeaders { storage?.trailers ?? [:] }

        /// The value of ``ResponseBody/encodedBytes``, for code that must not retain the body.
        public var encodedBytes: Int64? { storage?.encodedBytes }
    }

    /// Throws an error if the caller no longer needs the value that is made from the body.
    ///
    /// The value is no longer needed if the reader's task was cancelled, if the body was abandoned,
    /// or if the deadline of the call has ended. After a body is complete, only this
    /// method checks the deadline. A serializer that works for a long time therefore calls this
    /// method regularly. A body of at most 64 KiB has no deadline.
    /// - Throws: `CancellationError`, the error that ended the body, or the error of the deadline.
    public func checkCancellation() throws { try storage.checkCancellation() }

    /// Calls a handler each time the reader starts to wait for a chunk.
    public func onPull(_ handler: @escaping @Sendable () -> Void) { storage.add(onPull: handler) }

    /// Calls a handler with each chunk before the reader; an error of the handler ends the body.
    public func onChunk(_ handler: @escaping @Sendable (Data) throws -> Void) {
        storage.add(onChunk: handler)
    }

    /// Calls a handler when the body ends, or at once if the body has already ended.
    public func onEnd(_ handler: @escaping @Sendable (ResponseBodyEnd) -> Void) {
        storage.add(onEnd: handler)
    }

    /// Reserves the body for a gate that reads the chunks.
    public func begin() throws { try storage.begin() }

    /// Returns the next chunk of a reserved body, which is never empty, or nil at the end.
    public func pull() async throws -> Data? { try await storage.pull() }

    /// Returns a body whose chunks are the chunks of this body after a change by a closure.
    /// - Parameters:
    ///   - transform: Returns the bytes that replace a chunk. Empty data is skipped.
    ///   - finish: Returns bytes to add after the last chunk, or nil.
    /// - Returns: The changed body, which replaces this body.
    public func transforming(
        _ transform: @escaping @Sendable (Data) throws -> Data,
        finish: @escaping @Sendable () throws -> Data? = { nil }
    ) -> ResponseBody {
        ResponseBody(
            source: TransformedSource(body: self, transform: transform, finish: finish),
            encodedLength: encodedLength)
    }

    static func concatenating(_ prefix: Data, _ rest: ResponseBody) -> ResponseBody {
        ResponseBody(
            source: PrefixedSource(prefix: prefix, rest: rest),
            length: rest.length.map { $0 + Int64(prefix.count) }, encodedLength: rest.encodedLength)
    }

    /// Reads the whole body into memory.
    ///
    /// Memory is used only for bytes that have arrived. If the declared length is above the limit,
    /// the method throws an error before reading.
    /// - Parameter maxBytes: The limit, which is required.
    /// - Returns: The bytes.
    /// - Throws: ``ClientError/Code/tooLarge`` above the limit, after ending the transfer.
    public func collect(upTo maxBytes: Int) async throws -> Data {
        try await storage.collect(upTo: maxBytes)
    }

    /// Returns the first bytes, which a reader of the body still gets.
    /// - Parameter maxBytes: The requested number of bytes. The method may return more bytes, or
    ///   fewer bytes if the body is shorter.
    /// - Returns: The bytes.
    /// - Throws: The error that ended the body.
    public mutating func peek(upTo maxBytes: Int) async throws -> Data {
        try storage.begin()
        var prefix = Data()
        while prefix.count < maxBytes, let chunk = try await storage.pull() { prefix.append(chunk) }
        self = .concatenating(prefix, ResponseBody(storage: storage.continued()))
        return prefix
    }

    /// Reads the content in advance, until more than `maxBytes` bytes are read.
    /// - Returns: A body with the complete content, which can no longer break off. If the content
    ///   is larger, the body begins with the bytes that were read.
    func readAhead(upTo maxBytes: Int) async throws -> ResponseBody {
        try storage.begin()
        var read: Data?
        while read?.count ?? 0 <= maxBytes {
            if let chunk = try await storage.pull() {
                if read == nil { read = chunk } else { read?.append(chunk) }
                continue
            }
            let content = read ?? Data()
            return ResponseBody(
                storage: ResponseBodyStorage(
                    data: content, trailers: trailers, encodedLength: encodedLength,
                    encodedBytes: encodedBytes))
        }
        return .concatenating(read ?? Data(), ResponseBody(storage: storage.continued()))
    }
}

extension ResponseBody: AsyncSequence {
    /// The reader of a body, which ends the transfer when released, even if the response exists.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader

        fileprivate init(_ storage: ResponseBodyStorage) { reader = Reader(storage) }

        /// Returns the next chunk, which is never empty, or nil at the end.
        public mutating func next() async throws -> Data? { try await reader.next() }

        /// Returns the next chunk, which is never empty, or nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Data? { try await reader.next() }
    }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(storage) }
}

// The iterator releases this object. One task uses the object, because the class is not Sendable.
private final class Reader {
    private let storage: ResponseBodyStorage
    private var hasBegun = false

    init(_ storage: ResponseBodyStorage) { self.storage = storage }

    deinit { if hasBegun { storage.cancel(.drop) } }

    func next() async throws -> Data? {
        if !hasBegun {
            try storage.begin()
            hasBegun = true
        }
        return try await storage.pull()
    }
}

extension ResponseBody {
    /// Ends the transfer at the first byte if HTTP allows no content (RFC 9110 §6.4.1, §15.3.6).
    func refuseContent(of status: HTTPStatus, to method: HTTPMethod) {
        onChunk { _ in
            let what =
                method == .head
                ? "the response to a HEAD request" : "a response with status \(status.code)"
            throw ClientError(
                .protocol, "\(what) has content, which HTTP does not allow",
                transfer: TransferState(.receiving))
        }
    }
}
