import Foundation
import Synchronization

/// The exchanges under way whose responses may be stored, so that a change of what they are about
/// (RFC 9111 §4.4) reaches them too.
final class Recordings: Sendable {
    private struct Line {
        var count = 0
        var spoilt = 0
    }

    /// One exchange, from before it was sent.
    final class Mark: Sendable {
        let key: CacheKey
        let requestTime: Date
        private let owner: Recordings
        private let spoilt: Int

        fileprivate init(_ key: CacheKey, _ requestTime: Date, _ owner: Recordings, _ spoilt: Int) {
            self.key = key
            self.requestTime = requestTime
            self.owner = owner
            self.spoilt = spoilt
        }

        deinit { owner.end(key) }

        /// Whether what it is about was changed meanwhile.
        var isSpoiled: Bool { owner.spoilt(key) != spoilt }
    }

    private let lines = Mutex<[CacheKey: Line]>([:])

    func begin(_ key: CacheKey, at date: Date) -> Mark {
        let spoilt = lines.withLock { lines in
            lines[key, default: Line()].count += 1
            return lines[key]?.spoilt ?? 0
        }
        return Mark(key, date, self, spoilt)
    }

    /// Keeps what is under way from being stored.
    func spoil(_ key: CacheKey) {
        lines.withLock { $0[key]?.spoilt += 1 }
    }

    private func spoilt(_ key: CacheKey) -> Int { lines.withLock { $0[key]?.spoilt ?? 0 } }

    private func end(_ key: CacheKey) {
        lines.withLock { lines in
            lines[key]?.count -= 1
            if lines[key]?.count == 0 { lines[key] = nil }
        }
    }
}
