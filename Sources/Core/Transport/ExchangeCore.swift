// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

/// The state of an ``Exchange``, which a context can cancel.
///
/// The context holds this object instead of the exchange. If a transport releases an exchange
/// without an end, the exchange is therefore freed, and no call stays open.
final class ExchangeCore: Sendable {
    enum End {
        case complete
        /// The connection or the peer ended the exchange too early.
        case broken(any Error)
        /// The caller or a gate has abandoned the exchange.
        case givenUp(any Error)

        var rest: Result<BodyChunk?, any Error> {
            switch self {
            case .complete: .success(nil)
            case .broken(let error), .givenUp(let error): .failure(error)
            }
        }
    }

    // SAFETY: the code that takes a continuation out of the state resumes the continuation once.
    @safe struct State {
        var head: Result<ArrivedHead, any Error>?
        var hasOpened = false
        var waiter: UnsafeContinuation<ArrivedHead, any Error>?
        var buffer: ChunkBuffer
        var reader: UnsafeContinuation<BodyChunk?, any Error>?
        var end: End?
        var isPaused = false
        var registration: CancelRegistration?
        // The array is optional, because most responses have no trailers and nil costs nothing.
        var trailers: [HTTPHeaders.Field]?

        init(_ flow: Flow) { buffer = ChunkBuffer(flow) }

        /// Sets the result for the caller that waits for the head, unless a result is already set.
        /// - Returns: The waiting caller, which must be resumed outside the lock.
        mutating func open(
            _ result: Result<ArrivedHead, any Error>
        ) -> Waiting<ArrivedHead>? {
            if hasOpened { return nil }
            hasOpened = true
            guard let continuation = unsafe waiter else {
                head = result
                return nil
            }
            unsafe waiter = nil
            return unsafe Waiting(continuation, result)
        }
    }

    let state: Mutex<State>
    private let onCancel: @Sendable (CancelReason) -> Void

    init(_ flow: Flow, _ onCancel: @escaping @Sendable (CancelReason) -> Void) {
        state = Mutex(State(flow))
        self.onCancel = onCancel
    }

    deinit { state.withLock { $0.buffer.removeAll() } }

    func listen(to context: Context) {
        let registration = context.onCancel { [self] in cancel($0) }
        let isOver = state.withLock { state in
            state.registration = registration
            return state.end != nil
        }
        if isOver { registration.end() }
    }

    func stopListening() { state.withLock { $0.registration.take() }?.end() }

    func cancel(_ reason: CancelReason) {
        let (wasOpen, waiter, reader, registration) = state.withLock {
            state -> (Bool, Waiting<ArrivedHead>?, Waiting<BodyChunk?>?, CancelRegistration?) in
            // Only this line decides whether the end of the response or the time limit was first.
            if reason.owner == .timeLimit, state.end != nil { return (false, nil, nil, nil) }
            let wasOpen = state.end == nil
            switch state.end {
            // The first error takes effect.
            case .broken, .givenUp: break
            // A complete response becomes incomplete, because the unread chunks are dropped below.
            case nil, .complete: state.end = .givenUp(reason.error)
            }
            state.buffer.removeAll()
            defer {
                unsafe state.reader = nil
                state.registration = nil
            }
            let reading = unsafe state.reader.map { unsafe Waiting($0, .failure(reason.error)) }
            return (wasOpen, state.open(.failure(reason.error)), reading, state.registration)
        }
        registration?.end()
        waiter?.resume()
        reader?.resume()
        if wasOpen { onCancel(reason.decided) }
    }
}

enum ArrivedHead: Sendable {
    case read(Exchange.Head)
    case unread(any LazyResponseHead)

    func get() throws -> Exchange.Head {
        switch self {
        case .read(let head): head
        case .unread(let head): try head.read()
        }
    }
}

/// The limits on the buffered bytes of a response, for a reader that is slower than the peer.
public struct Flow: Sendable, Hashable {
    /// The number of buffered bytes at which the transport must pause.
    let highWater: Int
    let lowWater: Int
    /// The number of bytes in memory before a file stores further bytes; nil without a file.
    let memoryLimit: Int?
    let fileLimit: Int64

    /// The limits for a transport that can make the peer wait.
    /// - Parameters:
    ///   - highWater: The number of buffered bytes at which the transport must pause.
    ///   - lowWater: The number of buffered bytes at which the transport may continue.
    /// - Returns: The limits.
    public static func pausing(highWater: Int = 524_288, lowWater: Int = 131_072) -> Flow {
        Flow(highWater: highWater, lowWater: lowWater, memoryLimit: nil, fileLimit: 0)
    }

    /// The limits for a transport that cannot make the peer wait.
    ///
    /// Chunks beyond the memory limit are in an unnamed temporary file until the reader reads them.
    /// - Parameters:
    ///   - memoryLimit: The maximum number of bytes in memory.
    ///   - fileLimit: The maximum number of bytes in the file. Beyond this limit, the exchange
    ///     fails with ``ClientError/Code/tooLarge``.
    /// - Returns: The limits.
    public static func spilling(memoryLimit: Int = 1_048_576, fileLimit: Int64) -> Flow {
        Flow(highWater: .max, lowWater: .max, memoryLimit: memoryLimit, fileLimit: fileLimit)
    }
}

/// A continuation and the result for the continuation, which is resumed outside a lock.
// SAFETY: the code that took the continuation resumes the continuation once.
@safe struct Waiting<Value: Sendable> {
    private let continuation: UnsafeContinuation<Value, any Error>
    private let result: Result<Value, any Error>

    init(_ continuation: UnsafeContinuation<Value, any Error>, _ result: Result<Value, any Error>) {
        unsafe self.continuation = continuation
        self.result = result
    }

    func resume() { unsafe continuation.resume(with: result) }
}
