// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that is set once, by the first caller, and awaited by one task.
///
/// Use this type if a callback, a timer and a cancellation compete for one result.
public final class OneShot<Value: Sendable>: Sendable {
    // SAFETY: only the code that takes the continuation out of the state resumes the continuation.
    @safe private enum State {
        case open
        case awaited(UnsafeContinuation<Value, any Error>)
        case settled(Result<Value, any Error>)
        case taken
    }

    private let state = Mutex(State.open)

    /// Creates an object without a value.
    public init() {}

    /// Whether the value was set.
    public var isSettled: Bool {
        state.withLock { state in
            switch state {
            case .open, .awaited: false
            case .settled, .taken: true
            }
        }
    }

    /// Sets the value, or returns false if the value was already set.
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

    /// Waits for the value, and may be called only once.
    /// - Parameter onCancel: Runs when the waiting task is cancelled, and should set the value.
    /// - Returns: The value.
    /// - Throws: The error with which the value was set.
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

/// A value that is set once and awaited by any number of tasks, each of which may stop waiting.
public final class SharedValue<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var nextWaiter: UInt64 = 0
        var waiters: [UInt64: OneShot<Value>] = [:]
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Creates an object without a value.
    public init() {}

    /// The result, or nil if the value was not set.
    public var result: Result<Value, any Error>? { state.withLock { $0.result } }

    /// Sets the value, or returns false if the value was already set.
    @discardableResult
    public func settle(_ result: Result<Value, any Error>) -> Bool {
        let before = state.withLock { state -> State? in
            guard state.result == nil else { return nil }
            defer {
                state.result = result
                state.waiters = [:]
                state.handlers = []
            }
            return state
        }
        guard let before else { return false }
        for (_, waiter) in before.waiters.sorted(by: { $0.key < $1.key }) { waiter.settle(result) }
        for handler in before.handlers { handler() }
        return true
    }

    /// Calls a handler when the value is set, or at once if the value is already set.
    public func whenSettled(_ handler: @escaping @Sendable () -> Void) {
        let isSettled = state.withLock { state in
            if state.result == nil { state.handlers.append(handler) }
            return state.result != nil
        }
        if isSettled { handler() }
    }

    /// Waits for the value; the cancellation of the waiting task ends only this wait.
    public func value() async throws -> Value { try await value { _ in } }

    /// Waits for the value, or until a timer, a context or a cancellation ends this wait.
    /// - Parameter arrange: Receives a waiter, which a timer or a context may end with a result. If
    ///   the value was already set, the closure does not run.
    /// - Returns: The value.
    /// - Throws: The error of the value, or the error that ended this wait.
    public func value(
        endedBy arrange: (OneShot<Value>) -> Void
    ) async throws -> Value {
        let waiter = OneShot<Value>()
        let (result, id) = state.withLock { state in
            state.nextWaiter += 1
            if state.result == nil { state.waiters[state.nextWaiter] = waiter }
            return (state.result, state.nextWaiter)
        }
        if let result { return try result.get() }
        defer { _ = state.withLock { $0.waiters.removeValue(forKey: id) } }
        arrange(waiter)
        return try await waiter.value { waiter.settle(.failure(CancellationError())) }
    }
}
