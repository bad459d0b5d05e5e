import Foundation
import Synchronization

/// The exchanges under way whose responses may be stored, so that a change of what they are about
/// (RFC 9111 §4.4) reaches them too.
final class Recordings: Sendable {
    /// How often what a key is about has changed, while an exchange for it is under way.
    fileprivate final class Changes: Sendable {
        let count = Atomic(0)
    }

    private struct Line {
        var count = 0
        let changes = Changes()

        mutating func begin() -> Changes {
            count += 1
            return changes
        }
    }

    /// One exchange, from before it was sent.
    final class Mark: Sendable {
        let key: CacheKey
        let requestTime: Date
        private let owner: Recordings
        private let changes: Changes
        private let before: Int

        fileprivate init(
            _ key: CacheKey, _ requestTime: Date, _ owner: Recordings, _ changes: Changes
        ) {
            self.key = key
            self.requestTime = requestTime
            self.owner = owner
            self.changes = changes
            before = changes.count.load(ordering: .acquiring)
        }

        deinit { owner.end(key) }

        /// Whether what it is about was changed meanwhile.
        var isSpoiled: Bool { changes.count.load(ordering: .acquiring) != before }
    }

    private let lines = Mutex<[CacheKey: Line]>([:])

    func begin(_ key: CacheKey, at date: Date) -> Mark {
        Mark(key, date, self, lines.withLock { $0[key, default: Line()].begin() })
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
