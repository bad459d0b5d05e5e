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
    func store(_ key: CacheKey, _ work: DiskBacklog.Change.Work, bytes: Int) -> Bool {
        let (isTaken, start) = backlog.addEntry(DiskBacklog.Change(key, work, bytes: bytes))
        begin(start)
        return isTaken
    }

    /// Has something else done to a key's entries, which keeps some bytes in memory until then.
    func change(_ key: CacheKey, _ work: DiskBacklog.Change.Work, holding bytes: Int = 0) {
        begin(backlog.add(change(of: key, work, holding: bytes)))
    }

    private func change(
        of key: CacheKey, _ work: DiskBacklog.Change.Work, holding bytes: Int = 0
    ) -> DiskBacklog.Change {
        DiskBacklog.Change(key, work, bytes: 512 + key.url.utf8.count + bytes)
    }

    /// Has something done in line with the changes that look-ups of a key are told nothing of.
    package func behind(
        _ key: CacheKey, _ action: @escaping @Sendable (DiskStore) throws -> Void
    ) {
        change(key, .other(action))
    }

    /// Whether the store may have an entry of a key, or will have.
    func mayHold(_ key: CacheKey) -> Bool {
        if backlog.holds(key) { return true }
        guard let index = folder.index, let places = try? index.places(index.mark(of: key)) else {
            return true
        }
        return !places.isEmpty
    }

    // What waits keeps the store until it is written.
    private func begin(_ start: DiskBacklog.Start?) {
        guard let start else { return }
        if start.isNow {
            writes.async { [self] in write(start) }
        } else if let delay {
            writes.asyncAfter(deadline: .now() + delay / .seconds(1)) { [self] in write(start) }
        }
    }

    // What there is by now, or the rest of it, with room in between for others that wait for the
    // queue.
    private func write(_ start: DiskBacklog.Start, rest: Int = .max) {
        guard let due = backlog.due(start) else { return }
        let left = min(due, rest)
        let written = left > 0 ? write(left) : 0
        if written < left {
            writes.async { [self] in write(start, rest: left - max(written, 1)) }
        } else {
            begin(backlog.next(after: start))
        }
    }

    // The lock is given back from time to time, for other processes.
    private static let changesWithinLock = 256

    // The next changes, on the queue of changes; gives how many there were.
    @discardableResult
    private func write(_ most: Int) -> Int {
        let changes = backlog.take(min(most, Self.changesWithinLock))
        if changes.isEmpty { return 0 }
        var failed: [CacheKey] = []
        do {
            try folder.together { failed = write(changes, $0) }
        } catch {
            self.failed(error)
            failed = changes.filter { !$0.isOther }.map(\.key)
        }
        let removals = failed.filter { key in (try? removeEntries(of: key)) == nil }
        backlog.finish(changes, postponing: removals.map { change(of: $0, .removal) })
        return changes.count
    }

    // Returns the keys whose changes failed. Their old entries must not be found: they were to be removed,
    // or replaced.
    private func write(_ changes: [DiskBacklog.Change], _ index: DiskIndex) -> [CacheKey] {
        var failed: [CacheKey] = []
        func attempt(_ keys: [CacheKey], _ action: () throws -> Void) {
            do {
                try action()
            } catch {
                self.failed(error)
                failed += keys
            }
        }
        // What was gathered comes before all others.
        func keep() {
            let keys = folder.gathered.entries.map(\.response.key)
            if keys.isEmpty { return }
            attempt(keys) { try change { try folder.keepGathered($0, &$1) } }
        }
        for (count, change) in changes.enumerated() {
            if count % 16 == 15 { CacheFile.giveWay() }
            switch change.work {
            case .entry(let response, let content, let removals):
                let mark = index.mark(of: change.key)
                if folder.gathered.add(response, content, mark: mark, since: removals) { continue }
                keep()
                _ = folder.gathered.add(response, content, mark: mark, since: removals)
            case .removal:
                keep()
                attempt([change.key]) { try removeEntries(of: change.key) }
            case .update(let action):
                keep()
                attempt([change.key]) { try action(self) }
            case .other(let action):
                keep()
                attempt([]) { try action(self) }
            }
        }
        keep()
        return failed
    }

    // Removes a key's entries, on the queue of changes.
    private func removeEntries(of key: CacheKey) throws {
        try change { index, usage in
            // Where that fails, the entry goes all the same, and others may store what they read.
            let mark = index.mark(of: key)
            try? index.noteRemoval(mark)
            try folder.removeAll(mark, index, &usage)
        }
    }

    /// Changes entries, on the queue of changes.
    func change<Value>(
        _ action: (DiskIndex, inout CacheUsage) throws -> Value
    ) throws -> Value {
        let (value, usage) = try folder.change(action)
        state.withLock { state in
            let evictions = state.usage.evictions + usage.evictions
            state.usage = usage
            state.usage.evictions = evictions
        }
        return value
    }
}
