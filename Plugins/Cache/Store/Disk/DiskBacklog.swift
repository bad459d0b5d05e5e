// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

/// The queue of changes that are not yet written.
///
/// The store writes several changes together, after a short delay. No call waits for the disk.
/// Look-ups include the queued changes, and callers do not notice the delay.
final class DiskBacklog: Sendable {
    struct Change: Sendable {
        typealias Action = @Sendable (DiskStore) throws -> Void

        // The kind of a change. The kind determines the result of look-ups before the write.
        enum Work: Sendable {
            /// Stores an entry. If other processes have removed entries of the bucket since this
            /// count of removals, nothing is stored. Look-ups find the new entry.
            case entry(StoredResponse, Data, UInt64?)
            /// Removes all entries of the key. Look-ups find nothing.
            case removal
            /// Look-ups wait until the change is written.
            case update(Action)
            case other(Action)
        }

        let key: CacheKey
        let work: Work
        let bytes: Int

        var isOther: Bool { if case .other = work { true } else { false } }
    }

    struct Start {
        // Whether the task must write without a delay, because the queue is long. If false, the
        // task starts after a delay, and includes changes that are added during the delay.
        let isNow: Bool
        // Only the task with the highest number writes.
        fileprivate let number: Int
    }

    enum Finding {
        case entry(CacheEntry)
        case nothing
        /// The look-up must wait until the changes of the key are written.
        case later
        /// No queued change affects the look-up, which must read the folder.
        case folder
    }

    private struct State {
        var queue: [Change] = []
        // Changes that have failed. The next change also queues the failed changes again.
        var postponed: [Change] = []
        // All unwritten changes of each key, in order.
        var changes: [CacheKey: [Change]] = [:]
        var count = 0
        var bytes = 0
        var start: Start?
        var starts = 0

        mutating func begin(isNow: Bool) -> Start {
            starts += 1
            let start = Start(isNow: isNow, number: starts)
            self.start = start
            return start
        }

        mutating func hold(_ change: Change) {
            count += 1
            bytes += change.bytes
            changes[change.key, default: []].append(change)
        }

        mutating func release(_ change: Change) {
            count -= 1
            bytes -= change.bytes
            changes[change.key]?.removeFirst()
            if changes[change.key]?.isEmpty ?? false { changes[change.key] = nil }
        }

        mutating func resume() {
            queue += postponed
            postponed = []
        }
    }

    private let state = Mutex(State())
    private let maxBytes: Int

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    var count: Int { state.withLock { $0.count } }

    var isFull: Bool { state.withLock { $0.bytes > maxBytes } }

    // Adds an entry if the queue has space. Returns a task if the caller must start one.
    func addEntry(_ change: Change) -> (isTaken: Bool, Start?) {
        state.withLock { state in
            if state.bytes + change.bytes > maxBytes { return (false, nil) }
            return (true, add(change, &state))
        }
    }

    // Adds a change without a limit. Returns a task if the caller must start one.
    func add(_ change: Change) -> Start? { state.withLock { add(change, &$0) } }

    private func add(_ change: Change, _ state: inout State) -> Start? {
        state.resume()
        state.queue.append(change)
        state.hold(change)
        let isNow = isMuch(state)
        if let start = state.start, start.isNow || !isNow { return nil }
        return state.begin(isNow: isNow)
    }

    private func isMuch(_ state: State) -> Bool { state.bytes > maxBytes / 4 }

    /// Queues the postponed changes again, and returns the length of the queue.
    func resume() -> Int {
        state.withLock { state in
            state.resume()
            return state.queue.count
        }
    }

    func take(_ most: Int) -> [Change] {
        state.withLock { state in
            let most = min(most, state.queue.count)
            defer { state.queue.removeFirst(most) }
            return Array(state.queue.prefix(most))
        }
    }

    /// Returns the number of changes to write, or nil if a later task writes the changes.
    func due(_ start: Start) -> Int? {
        state.withLock { state in
            state.start?.number == start.number ? state.queue.count : nil
        }
    }

    /// Ends a task, and returns the next task if changes were added.
    ///
    /// Unless the queue is long, the next task starts a little later. Without the delay, each batch
    /// would be small under load, and would need its own file.
    func next(after start: Start) -> Start? {
        state.withLock { state in
            guard state.start?.number == start.number else { return nil }
            state.start = nil
            return state.queue.isEmpty ? nil : state.begin(isNow: isMuch(state))
        }
    }

    // If more changes have failed than this limit, the disk is unusable.
    private static let maxPostponed = 256

    // Removes changes that were written or have failed. Postpones `others`, up to a limit.
    func finish(_ changes: some Sequence<Change>, postponing others: [Change]) {
        state.withLock { state in
            for change in changes { state.release(change) }
            for change in others.prefix(Self.maxPostponed - state.postponed.count) {
                state.postponed.append(change)
                state.hold(change)
            }
        }
    }

    func find(_ key: CacheKey, _ isMatch: (StoredResponse) -> Bool) -> Finding {
        // `isMatch` is code of the caller, and must not run within the lock.
        for change in state.withLock({ $0.changes[key] ?? [] }).reversed() {
            switch change.work {
            case .entry(let response, let data, _):
                guard isMatch(response) else { continue }
                return .entry(CacheEntry(response: response, content: CachedData(data)))
            case .removal: return .nothing
            case .update: return .later
            case .other: continue
            }
        }
        return .folder
    }

    func holds(_ key: CacheKey) -> Bool { state.withLock { $0.changes[key] != nil } }
}
