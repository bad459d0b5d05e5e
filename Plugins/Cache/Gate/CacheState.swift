import Synchronization
import TurnpikeCore
import TurnpikeMiddleware

/// What all calls through a cache share.
final class CacheState: Sendable {
    let store: any CacheStore
    let counts: CacheCounts
    let revalidations = Revalidations()
    let recordings = Recordings()
    let background = BackgroundTasks()
    private let lastNote = Mutex<MonotonicInstant?>(nil)

    init(store: any CacheStore, meter: (any GateMeter)? = nil) {
        self.store = store
        counts = CacheCounts(store, meter: meter)
    }

    /// Asks something of the store; a fault is a miss.
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

    /// Hears of a fault of the store; loggers are told once a minute.
    func failed(_ error: any Error, _ context: Context) {
        if error is CancellationError { return }
        counts.addFailure()
        let now = context.timeSource.now
        let isNews = lastNote.withLock { last in
            if let last, last.duration(to: now) < .seconds(60) { return false }
            last = now
            return true
        }
        if isNews {
            context.note(
                gate: "Cache", "the store fails, and calls go on without it: \(error)")
        }
    }
}

/// Tasks that nobody's call waits for.
final class BackgroundTasks: Sendable {
    private struct State {
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var ended: Set<UInt64> = []
        var count: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Runs an operation, which must end when its context is cancelled.
    func run(_ operation: @escaping @Sendable () async -> Void) {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        // It ends by itself, by its time limit, or with the client; `shutdown` waits for it.
        let task = Task.inheriting(immediately: false) { [self] in
            await operation()
            end(number)
        }
        state.withLock { state in
            if state.ended.remove(number) == nil { state.tasks[number] = task }
        }
    }

    private func end(_ number: UInt64) {
        state.withLock { state in
            if state.tasks.removeValue(forKey: number) == nil { state.ended.insert(number) }
        }
    }

    func waitForAll() async {
        while let task = state.withLock({ $0.tasks.first?.value }) { await task.value }
    }
}
