import Foundation
import Synchronization

/// The exchanges under way whose responses may be stored, so that a change of what they are about
/// (RFC 9111 §4.4) reaches them too.
final class Recordings: Sendable {
    /// What happens to a key while an exchange for it is under way.
    fileprivate final class Changes: Sendable {
        /// How often what it is about has changed.
        let count = Atomic(0)
        /// The last one of the exchanges that have stored a variant.
        let newest = Mutex<[Variant: Int]>([:])
    }

    private struct Line {
        var count = 0
        var begun = 0
        let changes = Changes()

        mutating func begin() -> (Changes, Int) {
            count += 1
            begun += 1
            return (changes, begun)
        }
    }

    /// One exchange, from before it was sent.
    final class Mark: Sendable {
        let key: CacheKey
        let requestTime: Date
        private let owner: Recordings
        private let changes: Changes
        private let before: Int
        private let number: Int

        fileprivate init(
            _ key: CacheKey, _ requestTime: Date, _ owner: Recordings, _ changes: Changes,
            _ number: Int
        ) {
            self.key = key
            self.requestTime = requestTime
            self.owner = owner
            self.changes = changes
            self.number = number
            before = changes.count.load(ordering: .acquiring)
        }

        deinit { owner.end(key) }

        /// Whether what it is about was changed meanwhile.
        var isSpoiled: Bool { changes.count.load(ordering: .acquiring) != before }

        /// Whether its response may be stored: nothing that was asked for later was stored in its
        /// place, and nothing was changed (RFC 9111 §4: the most recent one is to be used).
        func mayStore(_ variant: Variant) -> Bool {
            guard !isSpoiled else { return false }
            return changes.newest.withLock { newest in
                guard newest[variant] ?? 0 <= number else { return false }
                newest[variant] = number
                return true
            }
        }
    }

    private let lines = Mutex<[CacheKey: Line]>([:])

    func begin(_ key: CacheKey, at date: Date) -> Mark {
        let (changes, number) = lines.withLock { $0[key, default: Line()].begin() }
        return Mark(key, date, self, changes, number)
    }

    /// Keeps what is under way from being stored.
    func spoil(_ key: CacheKey) {
        let changes = lines.withLock { $0[key]?.changes }
        _ = changes?.count.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }

    /// Keeps what is under way for some keys from being stored.
    func spoil(where isMeant: (CacheKey) -> Bool) {
        let changes = lines.withLock { $0.filter { isMeant($0.key) }.map(\.value.changes) }
        for change in changes { change.count.wrappingAdd(1, ordering: .acquiringAndReleasing) }
    }

    private func end(_ key: CacheKey) {
        lines.withLock { lines in
            guard let index = lines.index(forKey: key) else { return }
            lines.values[index].count -= 1
            if lines.values[index].count == 0 { lines.remove(at: index) }
        }
    }
}
