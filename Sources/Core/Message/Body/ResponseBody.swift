// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The content of a response, which one reader pulls chunk by chunk.
///
/// ```swift
/// for try await chunk in response.body { file.write(chunk) }
/// ```
///
/// Before a chunk is pulled, only the bounded buffer of the transport is filled. A body is read
/// once: a second iteration throws ``ClientError/Code/unsupported``. A body ends exactly once
/// (``ResponseBodyEnd``). If the last reference to the body or its iterator is released, the
/// transfer ends, and the connection is closed or returned to its pool. If the reader's task is
/// cancelled, the transfer ends at once, and the reader gets `CancellationError`.
///
/// A gate changes a body with ``transforming(_:finish:)``, or watches it with ``onPull(_:)``,
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
    ///   - length: The number of bytes to expect, if it is known.
    ///   - encodedLength: The size before decoding, if it is known.
    public init(
        source: any ResponseBodySource, length: Int64? = nil, encodedLength: Int64? = nil
    ) {
        storage = ResponseBodyStorage(.source(source), length: length, encodedLength: encodedLength)
    }

    /// Creates a body from a sequence of chunks.
    ///
    /// Each pull waits for the sequence in a separate task. A cancellation, a deadline or a release
    /// of the body therefore ends the pull at once, even if the sequence still waits.
    public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, length: Int64? = nil)
    where Chunks.Element == Data {
        self.init(source: SequenceSource(chunks), length: length)
    }

    /// Creates a body from changed chunks of another body, with that body's trailer fields.
    /// - Parameters:
    ///   - chunks: The chunks, each of which is requested in a separate task.
    ///   - length: The number of bytes to expect, if it is known.
    ///   - body: The other body.
    public init<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64?, trailersOf body: ResponseBody
    ) where Chunks.Element == Data {
        self.init(source: SequenceSource(chunks, trailersOf: body), length: length)
    }

    /// The number of bytes of the body, or nil if it is not known.
    public var length: Int64? { storage.length }

    /// The size before decoding, if the transport knows it.
    public var encodedLength: Int64? { storage.encodedLength }

    /// The bytes of coded content from which the chunks so far were decoded.
    ///
    /// The number may include bytes that are not decoded yet. The number is nil if the content is
    /// not coded, or if the transport does not count the bytes (URLSession).
    public var encodedBytes: Int64? { storage.encodedBytes }

    /// How much of the content has arrived, read or unread.
    public var arrival: ResponseBodyArrival { storage.arrival }

    /// The trailer fields (RFC 9110 §6.5), available when the content has been read to its end.
    ///
    /// Content that broke off has no trailer fields. The fields are never merged into the header
    /// section. Fields that frame, route, authenticate, control or describe the message (§6.5.1),
    /// such as `Content-Length` and `Set-Cookie`, are left out, because they are valid only before
    /// the content. If the transport lacks ``TransportCapabilities/trailers``, there are no fields.
    /// If the request does not say `TE: trailers`, a server may leave the fields out.
    public var trailers: HTTPHeaders { storage.trailers }

    /// Whether the body has no content.
    public var isEmpty: Bool { storage.length == 0 }

    /// Ends the transfer, unless the body has ended; a waiting reader gets the error of the reason.
    public func cancel(_ reason: CancelReason = .handle) { storage.cancel(reason) }

    /// A reference that can end the body without keeping it alive, for example for a timer.
    public var canceller: Canceller { Canceller(storage: storage) }

    /// A reference that can end a body without keeping it alive.
    public struct Canceller: Sendable {
        private weak let storage: ResponseBodyStorage?

        init(storage: ResponseBodyStorage) { self.storage = storage }

        /// Ends the transfer, if the body still exists.
        public func cancel(_ reason: CancelReason) { storage?.cancel(reason) }

        var isUnderWay: Bool { storage?.arrival == .underWay }

        /// The body's trailer fields, for an end handler that must not keep the body alive.
        public var trailers: HTTPHeaders { storage?.trailers ?? [:] }

        /// The value of ``ResponseBody/encodedBytes``, for code that must not keep the body alive.
        public var encodedBytes: Int64? { storage?.encodedBytes }
    }

    /// Throws an error if the caller no longer needs the value that is made from the body.
    ///
    /// The value is no longer needed if the reader's task was cancelled, the body was abandoned, or
    /// the call's deadline has passed. A complete body can be read at any time, and no other code
    /// then checks the deadline. A serializer that works long therefore calls this method
    /// regularly. A body of at most 64 KiB has no deadline.
    /// - Throws: `CancellationError`, the error that ended the body, or the deadline's error.
    public func checkCancellation() throws { try storage.checkCancellation() }

    /// Calls a handler each time the reader begins to wait for a chunk.
    public func onPull(_ handler: @escaping @Sendable () -> Void) { storage.add(onPull: handler) }

    /// Calls a handler with each chunk before the reader; an error of the handler ends the body.
    public func onChunk(_ handler: @escaping @Sendable (Data) throws -> Void) {
        storage.add(onChunk: handler)
    }

    /// Calls a handler when the body ends, or at once if the body has ended.
    public func onEnd(_ handler: @escaping @Sendable (ResponseBodyEnd) -> Void) {
        storage.add(onEnd: handler)
    }

    /// Claims the body for a gate that pulls the chunks for its own reader.
    public func begin() throws { try storage.begin() }

    /// Returns the next chunk of a claimed body, which is never empty, or nil at the end.
    public func pull() async throws -> Data? { try await storage.pull() }

    /// Returns a body with the chunks of this body, changed by a closure.
    /// - Parameters:
    ///   - transform: Returns the bytes that replace a chunk. Empty data is skipped.
    ///   - finish: Returns bytes to add after the last chunk, or nil.
    /// - Returns: The changed body, which takes over this body.
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

    /// Reads all of the body into memory.
    ///
    /// Memory is used only for bytes that have arrived. If the announced length is above the limit,
    /// the content is refused before anything is read.
    /// - Parameter maxBytes: The limit. There is no form without a limit.
    /// - Returns: The bytes.
    /// - Throws: ``ClientError/Code/tooLarge`` above the limit. The transfer is then ended.
    public func collect(upTo maxBytes: Int) async throws -> Data {
        try await storage.collect(upTo: maxBytes)
    }

    /// Reads the first bytes and puts them back, so that they are read again.
    /// - Parameter maxBytes: How many bytes are wanted. The method may return more bytes, or fewer
    ///   bytes if the body is shorter.
    /// - Returns: The bytes.
    /// - Throws: The error that ended the body.
    public mutating func peek(upTo maxBytes: Int) async throws -> Data {
        try storage.begin()
        var prefix = Data()
        while prefix.count < maxBytes, let chunk = try await storage.pull() { prefix.append(chunk) }
        self = .concatenating(prefix, ResponseBody(storage: storage.continued()))
        return prefix
    }

    /// Reads the content ahead of its reader: at most `maxBytes`, plus one chunk.
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
    /// The reader of a body; its release ends the transfer, even if the response still exists.
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

// The iterator releases this object. The class is not Sendable, so only one task uses it.
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
