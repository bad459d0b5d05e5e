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
        fileprivate let place: Int

        fileprivate init(_ key: CacheKey, _ requestTime: Date, _ owner: Recordings, _ place: Int) {
            self.key = key
            self.requestTime = requestTime
            self.owner = owner
            self.place = place
        }

        deinit { owner.end(place) }

        /// Whether what it is about was changed meanwhile.
        var isSpoiled: Bool { owner.isSpoiled(place) }

        /// Whether its response may be stored: nothing that was asked for later was stored in its
        /// place, and nothing was changed (RFC 9111 §4: the most recent one is to be used).
        func mayStore(_ variant: Variant) -> Bool { owner.mayStore(place, variant) }
    }

    private struct Line {
        let key: CacheKey
        // The later one was asked for later.
        let number: Int
        var isSpoiled = false
        // What others, which were asked for later, have stored meanwhile.
        var newer: Set<Variant> = []
    }

    // Places are taken and left by each call; who stores or changes something looks at all of them,
    // which are as many as there are exchanges under way.
    private struct State {
        var lines: [Line?] = []
        var free: [Int] = []
        var begun = 0
    }

    private let state = Mutex(State())

    func begin(_ key: CacheKey, at date: Date) -> Mark {
        let place = state.withLock { state in
            state.begun += 1
            let line = Line(key: key, number: state.begun)
            guard let place = state.free.popLast() else {
                state.lines.append(line)
                return state.lines.count - 1
            }
            state.lines[place] = line
            return place
        }
        return Mark(key, date, self, place)
    }

    /// Keeps what is under way from being stored, but for what makes the change itself.
    func spoil(_ key: CacheKey, except own: Mark? = nil) { spoil(except: own) { $0 == key } }

    /// Keeps what is under way for some keys from being stored.
    func spoil(except own: Mark? = nil, where isMeant: (CacheKey) -> Bool) {
        state.withLock { state in
            for place in state.lines.indices where place != own?.place {
                guard let line = state.lines[place], isMeant(line.key) else { continue }
                state.lines[place]?.isSpoiled = true
            }
        }
    }

    private func isSpoiled(_ place: Int) -> Bool {
        state.withLock { $0.lines[place]?.isSpoiled ?? false }
    }

    private func mayStore(_ place: Int, _ variant: Variant) -> Bool {
        state.withLock { state in
            guard let own = state.lines[place], !own.isSpoiled, !own.newer.contains(variant) else {
                return false
            }
            for other in state.lines.indices {
                guard let line = state.lines[other], line.number < own.number, line.key == own.key
                else { continue }
                state.lines[other]?.newer.insert(variant)
            }
            return true
        }
    }

    private func end(_ place: Int) {
        state.withLock { state in
            state.lines[place] = nil
            state.free.append(place)
        }
    }
}
