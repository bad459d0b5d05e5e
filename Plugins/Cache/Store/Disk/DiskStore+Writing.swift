// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TurnpikeSupport

// Writes changes in the background on one queue (`FORMAT.md`, "writing behind the calls").
extension DiskStore {
    var waiting: Int { backlog.count }

    /// Runs an action on the queue of changes, after all waiting changes.
    func onWrites<Value: Sendable>(
        _ action: @escaping @Sendable (DiskStore) throws -> Value
    ) async throws -> Value {
        try await writes.run { [self] in
            // The loop excludes changes that are added during the loop, and therefore ends.
            var left = backlog.resume()
            while left > 0 { left -= max(write(left), 1) }
            return try action(self)
        }
    }

    /// Runs an action on the queue of changes, before the waiting changes.
    func besideWrites<Value: Sendable>(
        _ action: @escaping @Sendable (DiskStore) throws -> Value
    ) async throws -> Value {
        try await writes.run { [self] in try action(self) }
    }

    /// Queues an entry, unless too many bytes already wait.
    func store(_ key: CacheKey, _ work: DiskBacklog.Change.Work, bytes: Int) -> Bool {
        let change = DiskBacklog.Change(key: key, work: work, bytes: bytes)
        let (isTaken, start) = backlog.addEntry(change)
        begin(start)
        return isTaken
    }

    // Queues a change of a key's entries until the write. Until then, the change occupies `bytes`.
    func change(_ key: CacheKey, _ work: DiskBacklog.Change.Work, holding bytes: Int = 0) {
        begin(backlog.add(change(of: key, work, holding: bytes)))
    }

    private func change(
        of key: CacheKey, _ work: DiskBacklog.Change.Work, holding bytes: Int = 0
    ) -> DiskBacklog.Change {
        DiskBacklog.Change(key: key, work: work, bytes: 512 + key.url.utf8.count + bytes)
    }

    /// Queues an action without an effect on look-ups of the key.
    func behind(
        _ key: CacheKey, _ action: @escaping @Sendable (DiskStore) throws -> Void
    ) {
        change(key, .other(action))
    }

    func mayHold(_ key: CacheKey) -> Bool {
        if backlog.holds(key) { return true }
        guard let index = folder.index, let places = try? index.places(index.mark(of: key)) else {
            return true
        }
        return !places.isEmpty
    }

    // The task keeps the store alive until the queue is written.
    private func begin(_ start: DiskBacklog.Start?) {
        guard let start else { return }
        if start.isNow {
            writes.async { [self] in write(start) }
        } else if let delay {
            writes.asyncAfter(deadline: .now() + delay / .seconds(1)) { [self] in write(start) }
        }
    }

    // Writes the waiting changes. Other jobs of the queue run after each batch of changes.
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

    // After this number of changes, the store releases the lock for other processes.
    private static let changesWithinLock = 256

    // Writes the next changes within the lock, and returns the number of written changes.
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

    // Returns the keys whose changes failed. The old entries of these keys must be removed, because
    // the failed changes should have replaced or removed the old entries.
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
        var pack = folder.newPack
        func keep() {
            let gathered = pack
            if gathered.entries.isEmpty { return }
            pack = folder.newPack
            attempt(gathered.entries.map(\.response.key)) {
                try change { try folder.keep(gathered, $0, &$1) }
            }
        }
        for change in changes {
            switch change.work {
            case .entry(let response, let content, let removals):
                let mark = index.mark(of: change.key)
                if pack.add(response, content, mark: mark, since: removals) { continue }
                keep()
                _ = pack.add(response, content, mark: mark, since: removals)
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

    private func removeEntries(of key: CacheKey) throws {
        try change { index, usage in
            // If a removal cannot be counted, the entry is removed anyway, and other processes may
            // store the response to an earlier request.
            let mark = index.mark(of: key)
            try? index.noteRemoval(mark)
            try folder.removeAll(mark, index, &usage)
        }
    }

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
