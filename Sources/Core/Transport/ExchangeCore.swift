import Foundation
import Synchronization

/// What a context's cancellation needs of an exchange.
///
/// The context holds this and not the exchange, so that one which its transport lets go of before
/// its end is no more, and keeps no call open. A weak reference to the exchange would cost more
/// than this object does.
final class ExchangeCore: Sendable {
    // SAFETY: a continuation is resumed by the one who takes it out of the state.
    @safe struct State {
        var opening: Result<ArrivedOpening, any Error>?
        var hasOpened = false
        var waiter: UnsafeContinuation<ArrivedOpening, any Error>?
        var buffer: ChunkBuffer
        var reader: UnsafeContinuation<BodyChunk?, any Error>?
        var end: Result<Void, any Error>?
        var isPaused = false
        var registration: CancelRegistration?
        // nil costs nothing, and most responses have none.
        var trailers: [HTTPHeaders.Field]?

        init(_ flow: Flow) { buffer = ChunkBuffer(flow) }

        /// The first result counts; gives who waits for it.
        mutating func open(
            _ result: Result<ArrivedOpening, any Error>
        ) -> Waiting<ArrivedOpening>? {
            if hasOpened { return nil }
            hasOpened = true
            guard let continuation = unsafe waiter else {
                opening = result
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

    /// Ends with the context, up to the exchange's end.
    func heed(_ context: Context) {
        let registration = context.onCancel { [self] in cancel($0) }
        let isOver = state.withLock { state in
            state.registration = registration
            return state.end != nil
        }
        if isOver { registration.end() }
    }

    /// Heeds the context no more.
    func letGo() { state.withLock { $0.registration.take() }?.end() }

    func cancel(_ reason: CancelReason) {
        let (wasOpen, waiter, reader, registration) = state.withLock {
            state -> (Bool, Waiting<ArrivedOpening>?, Waiting<BodyChunk?>?, CancelRegistration?) in
            let wasOpen = state.end == nil
            // The first failure stays; an end that was good is one no more, for what it ended is
            // dropped.
            if case .failure = state.end {} else { state.end = .failure(reason.error) }
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
        if wasOpen { onCancel(reason) }
    }
}
