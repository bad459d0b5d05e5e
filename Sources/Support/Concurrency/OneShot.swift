// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that is settled once, by the first caller, and awaited by one task.
///
/// Use it if a callback, a timer and a cancellation compete for one result.
public final class OneShot<Value: Sendable>: Sendable {
    // SAFETY: only the code that takes the continuation out of the state resumes it.
    @safe private enum State {
        case open
        case awaited(UnsafeContinuation<Value, any Error>)
        case settled(Result<Value, any Error>)
        case taken
    }

    private let state = Mutex(State.open)

    /// Creates an unsettled value.
    public init() {}

    /// Whether the value was settled.
    public var isSettled: Bool {
        state.withLock { state in
            switch state {
            case .open, .awaited: false
            case .settled, .taken: true
            }
        }
    }

    /// Settles the value.
    ///
    /// Returns false, and changes nothing, if it was already settled.
    @discardableResult
    public func settle(_ result: Result<Value, any Error>) -> Bool {
        let before = state.withLock { state in
            let before = state
            switch before {
            case .settled, .taken: break
            case .open: state = .settled(result)
            case .awaited: state = .taken
            }
            return before
        }
        switch before {
        case .settled, .taken: return false
        case .open: return true
        case .awaited(let continuation):
            unsafe continuation.resume(with: result)
            return true
        }
    }

    /// Waits for the value.
    ///
    /// May be called once.
    /// - Parameter onCancel: Runs when the waiting task is cancelled; it should settle the value.
    /// - Returns: The value.
    /// - Throws: The error that the value was settled with.
    public func value(onCancel: @escaping @Sendable () -> Void) async throws -> Value {
        if let result = take() { return try result.get() }
        return try await withTaskCancellationHandler {
            try unsafe await withUnsafeThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    if case .settled(let result) = state {
                        state = .taken
                        return result
                    }
                    unsafe state = .awaited(continuation)
                    return nil
                }
                if let result { unsafe continuation.resume(with: result) }
            }
        } onCancel: {
            onCancel()
        }
    }

    private func take() -> Result<Value, any Error>? {
        state.withLock { state in
            guard case .settled(let result) = state else { return nil }
            state = .taken
            return result
        }
    }
}
