import Foundation
import Synchronization

/// The changes that a disk store is still to write, in their order.
///
/// They are written together, a little later than they were made, so that no call pays for a file.
/// Until then look-ups are answered from here, so that the store behaves as if all were written.
final class DiskBacklog: Sendable {
    /// One change of a key's entries.
    final class Change: Sendable {
        typealias Action = @Sendable (DiskStore) throws -> Void

        /// What is to be done, and so what look-ups of the key are told meanwhile.
        enum Work: Sendable {
            /// An entry is stored, together with others, unless other processes have removed the
            /// key's since they had this often: it is found.
            case entry(StoredResponse, Data, UInt64?)
            /// The key's entries go: nothing is found.
            case removal
            /// Only the folder will tell, once the change was made.
            case update(Action)
            /// What there is stays.
            case other(Action)
        }

        let key: CacheKey
        let work: Work
        /// About how much memory it takes.
        let bytes: Int

        init(_ key: CacheKey, _ work: Work, bytes: Int) {
            self.key = key
            self.work = work
            self.bytes = bytes
        }

        /// Whether look-ups do not depend on it.
        var isOther: Bool { if case .other = work { true } else { false } }
    }

    /// When the store is to begin to write.
    struct Start {
        /// At once, for much waits; else a little later, together with what comes until then.
        let isNow: Bool
        /// Which one it is: what has begun by an earlier one leaves off.
        fileprivate let number: Int
    }

    /// What is known of a key.
    enum Finding {
        case entry(CacheEntry)
        /// There is none.
        case nothing
        /// The changes of the key are to be written first.
        case later
        /// The folder has all that there is.
        case folder
    }

    // The changes of one key, in their order: one, as a rule.
    private struct Line {
        var first: Change
        var others: [Change] = []

        func find<Value>(_ action: (Change) -> Value?) -> Value? {
            for change in others.reversed() {
                if let value = action(change) { return value }
            }
            return action(first)
        }
    }

    private struct State {
        var queue: [Change] = []
        // What could not be done; it is queued again before anything else is.
        var postponed: [Change] = []
        // All of them, and what is being written, by key.
        var lines: [CacheKey: Line] = [:]
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
            if let index = lines.index(forKey: change.key) {
                lines.values[index].others.append(change)
            } else {
                lines[change.key] = Line(first: change)
            }
        }

        mutating func release(_ change: Change) {
            count -= 1
            bytes -= change.bytes
            guard let index = lines.index(forKey: change.key) else { return }
            if lines.values[index].others.isEmpty {
                lines.remove(at: index)
            } else {
                lines.values[index].first = lines.values[index].others.removeFirst()
            }
        }

        mutating func resume() {
            if postponed.isEmpty { return }
            queue += postponed
            postponed = []
        }
    }

    private let state = Mutex(State())
    private let maxBytes: Int

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// The changes that are not yet written.
    var count: Int { state.withLock { $0.count } }

    /// Whether so much waits that whoever must not lose a change should wait too.
    var isFull: Bool { state.withLock { $0.bytes > maxBytes } }

    /// Takes an entry, if there is room.
    /// - Returns: Whether it was taken, and when to begin to write, where that was not said before.
    func addEntry(_ change: Change) -> (isTaken: Bool, Start?) {
        state.withLock { state in
            if state.bytes + change.bytes > maxBytes { return (false, nil) }
            return (true, add(change, &state))
        }
    }

    /// Takes another change.
    /// - Returns: When to begin to write, where that was not said before.
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

    /// Counts the changes that nobody has taken yet, those that were postponed included.
    func resume() -> Int {
        state.withLock { state in
            state.resume()
            return state.queue.count
        }
    }

    /// Takes the next changes out of the queue, for the task that writes.
    func take(_ most: Int) -> [Change] {
        state.withLock { state in
            if state.queue.count <= most {
                defer { state.queue = [] }
                return state.queue
            }
            let changes = Array(state.queue.prefix(most))
            state.queue.removeFirst(most)
            return changes
        }
    }

    /// How many changes there are for the one who was told to begin, or nil where somebody else was
    /// told so since.
    func due(_ start: Start) -> Int? {
        state.withLock { state in
            state.start?.number == start.number ? state.queue.count : nil
        }
    }

    /// When the one who was told to begin, and has written what there was, is to go on with what came
    /// meanwhile; nil where there is nothing, and the next change tells somebody.
    ///
    /// Not at once, as a rule: under load each portion would be as small as the one before it was
    /// quick, with a file for each.
    func next(after start: Start) -> Start? {
        state.withLock { state in
            guard state.start?.number == start.number else { return nil }
            state.start = nil
            return state.queue.isEmpty ? nil : state.begin(isNow: isMuch(state))
        }
    }

    // More than that means a disk that nothing can be done with.
    private static let maxPostponed = 256

    /// Forgets changes that were written, or could not be.
    /// - Parameters:
    ///   - changes: What was taken.
    ///   - others: What is to be done in its place when there is something to write again; look-ups
    ///     know of it until then. What goes beyond a bound is forgotten.
    func finish(_ changes: some Sequence<Change>, postponing others: [Change]) {
        state.withLock { state in
            for change in changes { state.release(change) }
            for change in others.prefix(Self.maxPostponed - state.postponed.count) {
                state.postponed.append(change)
                state.hold(change)
            }
        }
    }

    /// Looks a key up.
    func find(_ key: CacheKey, _ isMatch: (StoredResponse) -> Bool) -> Finding {
        // Conditions are the caller's own: they are not judged within the lock.
        guard let line = state.withLock({ $0.lines.isEmpty ? nil : $0.lines[key] }) else {
            return .folder
        }
        return line.find { change in
            switch change.work {
            case .entry(let response, let data, _):
                guard isMatch(response) else { return nil }
                return .entry(CacheEntry(response: response, content: CachedData(data)))
            case .removal: return .nothing
            case .update: return .later
            case .other: return nil
            }
        } ?? .folder
    }

    /// Whether a change of a key waits.
    func holds(_ key: CacheKey) -> Bool { state.withLock { $0.lines[key] != nil } }
}
