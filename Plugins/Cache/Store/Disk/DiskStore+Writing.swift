import Foundation
import Synchronization

// What is written behind the calls.
extension DiskStore {
    /// The changes that are not yet written.
    package var waiting: Int { backlog.count }

    /// Does something on the queue of changes, once those that wait are written.
    func onWrites<Value: Sendable>(
        _ action: @escaping @Sendable (DiskStore) throws -> Value
    ) async throws -> Value {
        try await writes.run { [self] in
            write()
            return try action(self)
        }
    }

    /// Does something on the queue of changes that is none.
    package func besideWrites<Value: Sendable>(
        _ action: @escaping @Sendable (DiskStore) throws -> Value
    ) async throws -> Value {
        try await writes.run { [self] in try action(self) }
    }

    /// Has an entry stored, unless too much waits already.
    /// - Returns: Whether it will be.
    func store(
        _ key: CacheKey, _ answer: DiskBacklog.Change.Answer, bytes: Int,
        _ write: @escaping @Sendable (DiskStore) throws -> Void
    ) -> Bool {
        let (isTaken, start) = backlog.addEntry(
            DiskBacklog.Change(key: key, answer: answer, bytes: bytes, write: write))
        begin(start)
        return isTaken
    }

    /// Has something else done to a key's entries.
    func change(
        _ key: CacheKey, _ answer: DiskBacklog.Change.Answer,
        _ write: @escaping @Sendable (DiskStore) throws -> Void
    ) {
        let change = DiskBacklog.Change(
            key: key, answer: answer, bytes: 512 + key.url.utf8.count, write: write)
        begin(backlog.add(change))
    }

    /// Whether the store may have an entry of a key, or will have.
    func mayHold(_ key: CacheKey) -> Bool {
        backlog.holds(key) || folder.filter?.mayHold(EntryName(key)) ?? true
    }

    // What waits keeps the store until it is written.
    private func begin(_ start: DiskBacklog.Start?) {
        switch start {
        case nil: break
        case .now: writes.async { [self] in write() }
        case .soon:
            guard let delay else { return }
            writes.asyncAfter(deadline: .now() + delay / .seconds(1)) { [self] in write() }
        }
    }

    // The lock is given back from time to time, for other processes.
    private static let changesWithinLock = 64

    // On the queue of changes.
    private func write() {
        while let changes = backlog.take(Self.changesWithinLock) {
            folder.together { for change in changes { write(change) } }
            backlog.finish(changes)
        }
    }

    private func write(_ change: DiskBacklog.Change) {
        do {
            try change.write(self)
        } catch {
            state.withLock { $0.fault = error }
        }
    }

    /// Changes entries, on the queue of changes.
    func change<Value>(_ action: (inout CacheUsage) throws -> Value) throws -> Value {
        let (value, usage) = try folder.change(action)
        state.withLock { state in
            let evictions = state.usage.evictions + usage.evictions
            state.usage = usage
            state.usage.evictions = evictions
        }
        return value
    }
}
