// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// The content of a response: pulled chunk by chunk, by one reader.
///
/// ```swift
/// for try await chunk in response.body { file.write(chunk) }
/// ```
///
/// Only the bounded buffer of the transport is read ahead of the pull. A body is read once: a
/// second iteration throws ``ClientError/Code/unsupported``. Its end comes exactly once
/// (``ResponseBodyEnd``). Releasing the last reference to the body, or its iterator, ends the
/// transfer and closes the connection or returns it; cancelling the reader's task does so at once
/// and throws `CancellationError`.
///
/// A gate wraps a body with ``transforming(_:finish:)``, or watches it with ``onPull(_:)``,
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
    ///   - source: Where the chunks come from.
    ///   - length: The number of bytes to expect, if known.
    ///   - encodedLength: The size before decoding, if it is known.
    public init(
        source: any ResponseBodySource, length: Int64? = nil, encodedLength: Int64? = nil
    ) {
        storage = ResponseBodyStorage(.source(source), length: length, encodedLength: encodedLength)
    }

    /// Creates a body from a sequence of chunks.
    ///
    /// Each pull asks the sequence in a task of its own, so that cancelling, a deadline or a drop
    /// ends the pull at once, whatever the sequence is waiting for.
    public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, length: Int64? = nil)
    where Chunks.Element == Data {
        self.init(source: SequenceSource(chunks), length: length)
    }

    /// Creates a body from the chunks of another one, changed in their number or their time, with
    /// its trailer fields.
    /// - Parameters:
    ///   - chunks: The chunks; each is requested in a task of its own.
    ///   - length: The number of bytes to expect, if known.
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

    /// The bytes of coded content that the chunks so far were decoded from, or more of them; nil for
    /// content that is not coded, and where the transport does not count (URLSession).
    public var encodedBytes: Int64? { storage.encodedBytes }

    /// How much of the content has arrived, read or not.
    public var arrival: ResponseBodyArrival { storage.arrival }

    /// The trailer fields (RFC 9110 §6.5), available when the content has been read to its end.
    ///
    /// Before that, or if the content broke off, there are none.
    ///
    /// They are never merged into the header section. Fields that are only valid before the content
    /// are left out: those that frame, route, authenticate, control or describe the message
    /// (§6.5.1), such as `Content-Length` and `Set-Cookie`. There are none if the transport lacks
    /// ``TransportCapabilities/trailers``. A server may leave them out where the request does not
    /// say `TE: trailers`.
    public var trailers: HTTPHeaders { storage.trailers }

    /// Whether there is nothing to read.
    public var isEmpty: Bool { storage.length == 0 }

    /// Ends the transfer; a reader that waits for a chunk gets the error of the reason.
    ///
    /// It has no effect on a body that has ended.
    public func cancel(_ reason: CancelReason = .handle) { storage.cancel(reason) }

    /// A reference that does not keep the body alive, for a timer that may have to end it.
    public var canceller: Canceller { Canceller(storage: storage) }

    /// A reference that can end a body without keeping it alive.
    public struct Canceller: Sendable {
        private weak let storage: ResponseBodyStorage?

        init(storage: ResponseBodyStorage) { self.storage = storage }

        /// Ends the transfer, if the body still is.
        public func cancel(_ reason: CancelReason) { storage?.cancel(reason) }

        /// Whether there is something left to wait for.
        var isUnderWay: Bool { storage?.arrival == .underWay }

        /// The body's trailer fields, for handlers of its end that must not keep the body alive.
        public var trailers: HTTPHeaders { storage?.trailers ?? [:] }

        /// The same as ``ResponseBody/encodedBytes``, for code that must not keep the body alive.
        public var encodedBytes: Int64? { storage?.encodedBytes }
    }

    /// Throws if the value of the body is no longer needed: the reader's task was cancelled, the
    /// body was abandoned, or the call's deadline has passed.
    ///
    /// A complete body can be read at any time, so nothing else checks the deadline then.
    /// A serializer that works long calls this between two pieces of its work; no deadline is known
    /// for a body of at most 64 KiB.
    /// - Throws: `CancellationError`, or the error with which the body ended or the deadline's.
    public func checkCancellation() throws { try storage.checkCancellation() }

    /// Calls a handler each time the reader begins to wait for a chunk.
    public func onPull(_ handler: @escaping @Sendable () -> Void) { storage.add(onPull: handler) }

    /// Calls a handler with each chunk before the reader gets it; an error ends the body with it.
    public func onChunk(_ handler: @escaping @Sendable (Data) throws -> Void) {
        storage.add(onChunk: handler)
    }

    /// Calls a handler when the body ends; at once, if it has ended.
    public func onEnd(_ handler: @escaping @Sendable (ResponseBodyEnd) -> Void) {
        storage.add(onEnd: handler)
    }

    /// Claims the body for a gate that pulls its chunks for its own reader.
    public func begin() throws { try storage.begin() }

    /// The next chunk, never empty, or nil at the end; of a body that was claimed.
    public func pull() async throws -> Data? { try await storage.pull() }

    /// Returns a body with the chunks of this one, changed by a closure.
    /// - Parameters:
    ///   - transform: Returns the bytes for a chunk; empty data is passed over.
    ///   - finish: Returns bytes to add after the last chunk, or nil.
    /// - Returns: The changed body; this one belongs to it.
    public func transforming(
        _ transform: @escaping @Sendable (Data) throws -> Data,
        finish: @escaping @Sendable () throws -> Data? = { nil }
    ) -> ResponseBody {
        ResponseBody(
            source: TransformedSource(body: self, transform: transform, finish: finish),
            encodedLength: encodedLength)
    }

    /// A body of bytes that were read already, and the rest.
    static func concatenating(_ prefix: Data, _ rest: ResponseBody) -> ResponseBody {
        ResponseBody(
            source: PrefixedSource(prefix: prefix, rest: rest),
            length: rest.length.map { $0 + Int64(prefix.count) }, encodedLength: rest.encodedLength)
    }

    /// Reads all of the body into memory.
    ///
    /// Memory is used only for bytes that have arrived. An announced length above the limit is
    /// refused before anything is read.
    /// - Parameter maxBytes: The limit; there is no unlimited form.
    /// - Returns: The bytes.
    /// - Throws: ``ClientError/Code/tooLarge`` above the limit; the transfer is then ended.
    public func collect(upTo maxBytes: Int) async throws -> Data {
        try await storage.collect(upTo: maxBytes)
    }

    /// Reads the first bytes and puts them back.
    /// - Parameter maxBytes: How many bytes are wanted; more may be given, fewer where the body
    ///   ends.
    /// - Returns: The bytes.
    /// - Throws: The error that ended the body.
    public mutating func peek(upTo maxBytes: Int) async throws -> Data {
        try storage.begin()
        var prefix = Data()
        while prefix.count < maxBytes, let chunk = try await storage.pull() { prefix.append(chunk) }
        self = .concatenating(prefix, ResponseBody(storage: storage.continued()))
        return prefix
    }

    /// Reads the content ahead of its reader.
    /// - Parameter maxBytes: The number of bytes that are held in memory, plus one chunk.
    /// - Returns: A body with the complete content, which cannot break off any more. If the content
    ///   is larger, the body begins with the bytes that were read.
    /// - Throws: The error that ended the body.
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
    /// The reader.
    ///
    /// Dropping it ends the transfer, even while the response lives.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reader: Reader

        fileprivate init(_ storage: ResponseBodyStorage) { reader = Reader(storage) }

        /// The next chunk, never empty, or nil at the end.
        public mutating func next() async throws -> Data? { try await reader.next() }

        /// The next chunk, never empty, or nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Data? { try await reader.next() }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(storage) }
}

// The identity of the iterator: it is released when the iterator is dropped. It is not Sendable, so
// only one task uses it.
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
    /// Refuses content of a response that must not have any (RFC 9110 §6.4.1, §15.3.6): its reader
    /// gets an error with the first byte of it, and the transfer ends.
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
