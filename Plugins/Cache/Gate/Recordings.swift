package import Foundation
import Synchronization

/// The exchanges under way whose responses may be stored, so that a change of what they are about
/// (RFC 9111 §4.4) reaches them too.
///
/// Each exchange has a number, and each key that one of them may store under has a history. An
/// exchange compares its number with the history and looks at no other exchange, so that many at once
/// cost as much each as a few.
package final class Recordings: Sendable {
    /// One exchange, from before it was sent.
    package final class Mark: Sendable {
        let requestTime: Date
        private let owner: Recordings
        private let keys: [CacheKey]
        fileprivate let number: Int

        fileprivate init(
            _ requestTime: Date, _ owner: Recordings, _ keys: [CacheKey], _ number: Int
        ) {
            self.requestTime = requestTime
            self.owner = owner
            self.keys = keys
            self.number = number
        }

        deinit { owner.end(keys) }

        /// Whether what stands under a key was changed meanwhile.
        package func isSpoiled(_ key: CacheKey) -> Bool { owner.isSpoiled(number, key) }

        /// Whether its response may be stored under a key: nothing that was asked for later was
        /// stored in its place, and nothing was changed (RFC 9111 §4: the most recent one is to be
        /// used).
        package func mayStore(_ key: CacheKey, _ variant: Variant) -> Bool {
            owner.mayStore(number, key, variant)
        }
    }

    private struct State {
        // The number of the latest exchange; 0 is nobody's.
        var latest = 0
        // Of the keys that exchanges under way may store under.
        var histories: [CacheKey: KeyHistory] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Begins an exchange whose response may be stored under some keys.
    package func begin(_ keys: [CacheKey], at date: Date) -> Mark {
        let number = state.withLock { state in
            state.latest += 1
            for key in keys { state.histories[key, default: KeyHistory()].exchanges += 1 }
            return state.latest
        }
        return Mark(date, self, keys, number)
    }

    /// Keeps what is under way from being stored, but for what makes the change itself.
    package func spoil(_ key: CacheKey, except own: Mark? = nil) {
        state.withLock { state in
            state.histories[key]?.change(before: state.latest, by: own?.number ?? 0)
        }
    }

    /// Keeps what is under way from being stored under some keys; looks at all of them.
    package func spoil(where isMeant: (CacheKey) -> Bool) {
        state.withLock { state in
            for key in state.histories.keys where isMeant(key) {
                state.histories[key]?.change(before: state.latest, by: 0)
            }
        }
    }

    /// How many keys have a history.
    package var keyCount: Int { state.withLock { $0.histories.count } }

    private func isSpoiled(_ number: Int, _ key: CacheKey) -> Bool {
        state.withLock { $0.histories[key]?.isSpoiled(number) ?? false }
    }

    private func mayStore(_ number: Int, _ key: CacheKey, _ variant: Variant) -> Bool {
        state.withLock { state in
            state.histories[key]?.store(variant, by: number, latest: state.latest) ?? true
        }
    }

    private func end(_ keys: [CacheKey]) {
        state.withLock { state in
            for key in keys {
                guard let index = state.histories.index(forKey: key) else { continue }
                state.histories.values[index].exchanges -= 1
                if state.histories.values[index].exchanges == 0 {
                    state.histories.remove(at: index)
                }
            }
        }
    }
}

/// What has come to pass under one key while exchanges are under way that may store a response there.
package struct KeyHistory {
    /// How many exchanges are under way.
    fileprivate(set) var exchanges = 0
    // What was changed was so for all exchanges up to a number, but for the one that has made the
    // change. Two numbers are enough: the last change, and the last one that another has made.
    private var change = 0
    private var maker = 0
    private var changeByOthers = 0
    // The latest exchange whose response was stored as each variant.
    private var stored: [Variant: Int] = [:]

    /// The most variants that are remembered.
    package static let maxVariants = 1024

    fileprivate init() {}

    /// Notes a change that none of the exchanges up to a number has seen, but for its maker.
    mutating func change(before latest: Int, by maker: Int) {
        if maker != self.maker { changeByOthers = change }
        change = latest
        self.maker = maker
    }

    /// Whether there was a change behind the beginning of an exchange.
    func isSpoiled(_ number: Int) -> Bool {
        number <= (number == maker ? changeByOthers : change)
    }

    /// Notes that an exchange stores a variant, if it may.
    /// - Returns: Whether it may.
    mutating func store(_ variant: Variant, by number: Int, latest: Int) -> Bool {
        if isSpoiled(number) { return false }
        if let last = stored[variant] {
            if last > number { return false }
        } else if stored.count == Self.maxVariants {
            // With one exchange that never ends, and a variant for each request, there would be no
            // end of them: so what has begun before now stores nothing any more.
            stored = [:]
            change(before: latest, by: number)
        }
        stored[variant] = number
        return true
    }
}
