import Foundation
import Synchronization

/// The exchanges under way whose responses may be stored, so that a change of what they are about
/// (RFC 9111 §4.4) reaches them too.
final class Recordings: Sendable {
    /// One exchange, from before it was sent.
    final class Mark: Sendable {
        let key: CacheKey
        let requestTime: Date
        private let owner: Recordings
        private let place: Int

        fileprivate init(_ key: CacheKey, _ requestTime: Date, _ owner: Recordings, _ place: Int) {
            self.key = key
            self.requestTime = requestTime
            self.owner = owner
            self.place = place
        }

        deinit { owner.end(place) }

        /// Whether what it is about was changed meanwhile.
        var isSpoiled: Bool { owner.isSpoiled(place) }
    }

    private struct Line {
        let key: CacheKey
        var isSpoiled = false
    }

    // Places are taken and left by each call; a change, which is rare, looks at all of them.
    private struct State {
        var lines: [Line?] = []
        var free: [Int] = []
    }

    private let state = Mutex(State())

    func begin(_ key: CacheKey, at date: Date) -> Mark {
        let place = state.withLock { state in
            guard let place = state.free.popLast() else {
                state.lines.append(Line(key: key))
                return state.lines.count - 1
            }
            state.lines[place] = Line(key: key)
            return place
        }
        return Mark(key, date, self, place)
    }

    /// Keeps what is under way from being stored.
    func spoil(_ key: CacheKey) { spoil { $0 == key } }

    /// Keeps what is under way for some keys from being stored.
    func spoil(where isMeant: (CacheKey) -> Bool) {
        state.withLock { state in
            for place in state.lines.indices {
                guard let line = state.lines[place], isMeant(line.key) else { continue }
                state.lines[place]?.isSpoiled = true
            }
        }
    }

    private func isSpoiled(_ place: Int) -> Bool {
        state.withLock { $0.lines[place]?.isSpoiled ?? false }
    }

    private func end(_ place: Int) {
        state.withLock { state in
            state.lines[place] = nil
            state.free.append(place)
        }
    }
}
