// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// Work that is done once at a time, and that its callers may stop waiting for.
///
/// Work that ignores its cancellation holds no caller beyond the limit, and no second one begins
/// beside it, so that hanging work piles up neither tasks nor threads.
final class SharedLookup<Value: Sendable>: Sendable {
    private let running = Mutex<SharedValue<Value>?>(nil)

    /// Returns the value of the work that is under way, or begins it.
    /// - Parameters:
    ///   - limit: The time after which the work is cancelled, and the longest wait for it.
    ///   - context: Ends the wait, not the work, when it is cancelled.
    ///   - fault: Makes the error for the limit.
    ///   - work: The work, with a context that is cancelled at the limit.
    /// - Returns: The value.
    /// - Throws: The error of the work, of the limit, or of the context.
    func value(
        within limit: Duration, in context: Context,
        orThrow fault: @escaping @Sendable () -> ClientError,
        _ work: @escaping @Sendable (Context) async throws -> Value
    ) async throws -> Value {
        try context.checkCancellation()
        let fresh = SharedValue<Value>()
        let answer = running.withLock { running in
            if let running { return running }
            running = fresh
            return fresh
        }
        if answer === fresh { begin(fresh, within: limit, in: context.detached(), fault, work) }
        var end: (registration: CancelRegistration, timer: any TimerToken)?
        defer {
            end?.registration.end()
            end?.timer.cancel()
        }
        return try await answer.value { waiter in
            let registration = context.onCancel { waiter.settle(.failure($0.error)) }
            let timer = context.timeSource.schedule(after: limit) {
                waiter.settle(.failure(fault()))
            }
            end = (registration, timer)
        }
    }

    private func begin(
        _ answer: SharedValue<Value>, within limit: Duration, in context: Context,
        _ fault: @escaping @Sendable () -> ClientError,
        _ work: @escaping @Sendable (Context) async throws -> Value
    ) {
        let timer = context.timeSource.schedule(after: limit) { context.cancel(.expired(fault())) }
        // Ends by itself; the timer cancels its context.
        _ = Task.apart { [self] in
            let result: Result<Value, any Error>
            do {
                result = .success(try await work(context))
            } catch {
                result = .failure(error)
            }
            timer.cancel()
            running.withLock { $0 = nil }
            answer.settle(result)
        }
    }
}
