// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

/// The source of the chunks of a ``ResponseBody``.
///
/// Transports and gates implement this protocol. ``Exchange`` is a complete implementation for
/// transports. The ``next()`` of any other source begins with ``Context/checkCancellation()``,
/// because the source must check for a cancellation of the call.
public protocol ResponseBodySource: Sendable {
    /// Returns the next chunk, or nil at the end.
    ///
    /// Only one reader at a time calls this method. The method must return soon after
    /// ``cancel(_:)``, and throw `CancellationError` soon after a cancellation of its task.
    func next() async throws -> Data?

    /// Ends the transfer; runs at most once, on any thread, and perhaps during ``next()``.
    func cancel(_ reason: CancelReason)

    /// How much of the content has arrived, read or unread.
    ///
    /// The default is ``ResponseBodyArrival/underWay``, with which a time limit can end the body. A
    /// source that wraps a body returns ``ResponseBody/arrival`` of that body.
    var arrival: ResponseBodyArrival { get }

    /// The trailer fields after the end, or those of a wrapped body; none by default.
    var trailers: HTTPHeaders { get }

    /// The number of encoded bytes from which the chunks so far were decoded, or a larger number.
    ///
    /// The default is nil, for content that is not encoded or not counted. A source that wraps a
    /// body returns ``ResponseBody/encodedBytes`` of that body.
    var encodedBytes: Int64? { get }
}

extension ResponseBodySource {
    /// `underWay` by default, because more content may arrive.
    public var arrival: ResponseBodyArrival { .underWay }

    /// Nil by default, because the bytes are not counted.
    public var encodedBytes: Int64? { nil }

    /// No trailer fields, by default.
    public var trailers: HTTPHeaders { [:] }
}

/// Reads each chunk of a sequence in a separate task, which the end of the body cancels.
final class SequenceSource: ResponseBodySource {
    private struct State {
        var iterator: (any AsyncIteratorProtocol)?
        var pending: OneShot<Data?>?
        var task: Task<Void, Never>?
        var reason: CancelReason?
    }

    // SAFETY: the iterator is inside the lock, or moved to the one read that is running.
    private struct Locked: @unchecked Sendable { var state: State }
    private struct Moved: @unchecked Sendable { var iterator: any AsyncIteratorProtocol }

    private let locked: Mutex<Locked>
    private let original: ResponseBody?

    init<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, trailersOf original: ResponseBody? = nil
    ) where Chunks.Element == Data {
        self.original = original
        locked = Mutex(Locked(state: State(iterator: chunks.makeAsyncIterator())))
    }

    func next() async throws -> Data? {
        let pull = OneShot<Data?>()
        let moved = try locked.withLock { locked -> Moved? in
            if let reason = locked.state.reason { throw reason.error }
            locked.state.pending = pull
            defer { locked.state.iterator = nil }
            return locked.state.iterator.map(Moved.init)
        }
        guard let moved else { return nil }
        // The task ends when the sequence returns, or when `cancel` cancels the task.
        let task = Task.inheriting { [self] in
            var moved = moved
            do {
                let chunk = try await Self.next(&moved.iterator)
                let kept = moved
                // If the body was abandoned, the sequence is not read again.
                locked.withLock { locked in
                    if chunk != nil, locked.state.reason == nil {
                        locked.state.iterator = kept.iterator
                    }
                }
                pull.settle(.success(chunk))
            } catch {
                pull.settle(.failure(error))
            }
        }
        let reason = locked.withLock { locked in
            locked.state.task = task
            return locked.state.reason
        }
        if reason != nil { task.cancel() }
        return try await pull.value { [self] in cancel(.task) }
    }

    func cancel(_ reason: CancelReason) {
        let (pending, task) = locked.withLock { locked in
            locked.state.reason = locked.state.reason ?? reason
            locked.state.iterator = nil
            return (locked.state.pending, locked.state.task)
        }
        pending?.settle(.failure(reason.error))
        task?.cancel()
    }

    var trailers: HTTPHeaders { original?.trailers ?? [:] }

    var encodedBytes: Int64? { original?.encodedBytes }

    private static func next<Iterator: AsyncIteratorProtocol>(
        _ iterator: inout Iterator
    ) async throws -> Data? {
        try await iterator.next(isolation: nil) as? Data
    }
}

protocol WrappingSource: ResponseBodySource {
    var body: ResponseBody { get }
}

final class TransformedSource: WrappingSource {
    let body: ResponseBody
    private let transform: @Sendable (Data) throws -> Data
    private let finish: @Sendable () throws -> Data?
    private let hasEnded = Atomic(false)
    private let hasBegun = Atomic(false)

    init(
        body: ResponseBody, transform: @escaping @Sendable (Data) throws -> Data,
        finish: @escaping @Sendable () throws -> Data?
    ) {
        self.body = body
        self.transform = transform
        self.finish = finish
    }

    func next() async throws -> Data? {
        if !hasBegun.exchange(true, ordering: .relaxed) { try body.storage.begin() }
        while let chunk = try await body.storage.pull() {
            let changed = try cancelling { try transform(chunk) }
            if !changed.isEmpty { return changed }
        }
        return hasEnded.exchange(true, ordering: .relaxed) ? nil : try cancelling(finish)
    }

    // After an error, the connection must not stay in use until the response is released.
    private func cancelling<Value>(_ work: () throws -> Value) throws -> Value {
        do {
            return try work()
        } catch {
            body.cancel(.failed(error))
            throw error
        }
    }

    func cancel(_ reason: CancelReason) { body.cancel(reason) }

    var arrival: ResponseBodyArrival { body.arrival }

    var trailers: HTTPHeaders { body.trailers }

    var encodedBytes: Int64? { body.encodedBytes }
}

final class PrefixedSource: WrappingSource {
    private let prefix: Mutex<Data?>
    private let rest: ResponseBody
    var body: ResponseBody { rest }
    private let hasBegun = Atomic(false)

    init(prefix: Data, rest: ResponseBody) {
        self.prefix = Mutex(prefix.isEmpty ? nil : prefix)
        self.rest = rest
    }

    func next() async throws -> Data? {
        let data = prefix.withLock { prefix in
            defer { prefix = nil }
            return prefix
        }
        if let data { return data }
        if !hasBegun.exchange(true, ordering: .relaxed) { try rest.storage.begin() }
        return try await rest.storage.pull()
    }

    func cancel(_ reason: CancelReason) { rest.cancel(reason) }

    var arrival: ResponseBodyArrival { rest.arrival }

    var trailers: HTTPHeaders { rest.trailers }

    var encodedBytes: Int64? { rest.encodedBytes }
}

final class ContinuedSource: WrappingSource {
    private let storage: ResponseBodyStorage
    var body: ResponseBody { ResponseBody(storage: storage) }

    init(storage: ResponseBodyStorage) { self.storage = storage }

    func next() async throws -> Data? { try await storage.pull() }

    func cancel(_ reason: CancelReason) { storage.cancel(reason) }

    var arrival: ResponseBodyArrival { storage.arrival }

    var trailers: HTTPHeaders { storage.trailers }

    var encodedBytes: Int64? { storage.encodedBytes }
}
