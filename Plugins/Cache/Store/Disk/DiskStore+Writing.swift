import Foundation
import Synchronization

// What is written behind the calls.
extension DiskStore {
    /// The changes that are not yet written.
    package var waiting: Int { backlog.count }

    /// Does something on the queue of changes, once those that wait by then are written.
    func onWrites<Value: Sendable>(
        _ action: @escaping @Sendable (DiskStore) throws -> Value
    ) async throws -> Value {
        try await writes.run { [self] in
            // Not what comes meanwhile: under load that has no end.
            var left = backlog.resume()
            while left > 0 { left -= max(write(left), 1) }
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

    /// Has something else done to a key's entries, which keeps some bytes in memory until then.
    func change(
        _ key: CacheKey, _ answer: DiskBacklog.Change.Answer, holding bytes: Int = 0,
        _ write: @escaping @Sendable (DiskStore) throws -> Void
    ) {
        begin(backlog.add(change(of: key, answer, holding: bytes, write)))
    }

    private func change(
        of key: CacheKey, _ answer: DiskBacklog.Change.Answer, holding bytes: Int = 0,
        _ write: @escaping @Sendable (DiskStore) throws -> Void
    ) -> DiskBacklog.Change {
        DiskBacklog.Change(
            key: key, answer: answer, bytes: 512 + key.url.utf8.count + bytes, write: write)
    }

    /// Has something done in line with the changes that look-ups of a key are told nothing of.
    package func behind(
        _ key: CacheKey, _ action: @escaping @Sendable (DiskStore) throws -> Void
    ) {
        change(key, .before, action)
    }

    /// Whether the store may have an entry of a key, or will have.
    func mayHold(_ key: CacheKey) -> Bool {
        backlog.holds(key) || folder.filter?.mayHold(EntryName(key)) ?? true
    }

    // What waits keeps the store until it is written.
    private func begin(_ start: DiskBacklog.Start?) {
        switch start {
        case nil: break
        case .now: writes.async { [self] in writeOn() }
        case .soon:
            guard let delay else { return }
            writes.asyncAfter(deadline: .now() + delay / .seconds(1)) { [self] in writeOn() }
        }
    }

    // All that there is, with room in between for others that wait for the queue.
    private func writeOn() {
        write(.max)
        if backlog.mustGoOn() { writes.async { [self] in writeOn() } }
    }

    // The lock is given back from time to time, for other processes.
    private static let changesWithinLock = 64

    // The next changes, on the queue of changes; gives how many there were.
    @discardableResult
    private func write(_ most: Int) -> Int {
        let changes = backlog.take(min(most, Self.changesWithinLock))
        if changes.isEmpty { return 0 }
        var failed: [CacheKey] = []
        folder.together { for change in changes where !write(change) { failed.append(change.key) } }
        let removals = failed.map { key in
            self.change(of: key, .nothing) { try $0.removeFiles(of: key) }
        }
        backlog.finish(changes, postponing: removals)
        return changes.count
    }

    // Gives false where what must not be found any more is still there.
    private func write(_ change: DiskBacklog.Change) -> Bool {
        do {
            try change.write(self)
            return true
        } catch {
            state.withLock { $0.fault = error }
        }
        if case .before = change.answer { return true }
        // Neither what was to go nor what was to be replaced.
        return (try? removeFiles(of: change.key)) != nil
    }

    /// Removes a key's entries, on the queue of changes.
    func removeFiles(of key: CacheKey) throws {
        try change { usage in
            // Where that fails, the entry goes all the same, and others may store what they read.
            try? folder.filter?.noteRemoval(of: key)
            try folder.removeAll(of: key, &usage)
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
