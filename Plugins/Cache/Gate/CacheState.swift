// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

final class CacheState: Sendable {
    let store: any CacheStore
    let counts: CacheCounts
    let revalidations = Revalidations()
    let recordings = Recordings()
    let claims = Claims()
    let background = BackgroundTasks()
    private let lastNote = Mutex<MonotonicInstant?>(nil)

    init(store: any CacheStore, meter: (any GateMeter)? = nil) {
        self.store = store
        counts = CacheCounts(store, meter: meter)
    }

    // Runs an operation of the store. An error is counted and logged, and the result is nil.
    func attempt<Value>(
        _ context: Context, _ action: () async throws -> Value?
    ) async -> Value? {
        do {
            return try await action()
        } catch {
            failed(error, context)
            return nil
        }
    }

    // Counts an error of the store. Logs at most one error in ten seconds.
    func failed(_ error: any Error, _ context: Context) {
        if error is CancellationError { return }
        counts.addFailure()
        let now = context.timeSource.now
        let isNews = lastNote.withLock { last in
            if let last, last.duration(to: now) < .seconds(10) { return false }
            last = now
            return true
        }
        if isNews {
            context.report(
                "the store failed, and calls continue without the store: \(error)", by: "Cache")
        }
    }
}

final class BackgroundTasks: Sendable {
    private struct State {
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var count: UInt64 = 0
    }

    private let state = Mutex(State())

    // Runs an operation in a task. The operation must end when its context is cancelled.
    func run(_ operation: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.count += 1
            let number = state.count
            // The task ends within its time limit or with the client. `shutdown` waits for it.
            state.tasks[number] = Task.inheriting(immediately: false) { [self] in
                await operation()
                self.state.withLock { $0.tasks[number] = nil }
            }
        }
    }

    func waitForAll() async {
        while let task = state.withLock({ $0.tasks.first?.value }) { await task.value }
    }
}
