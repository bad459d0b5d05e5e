// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

/// The running exchanges whose responses may be stored.
///
/// After a change (RFC 9111 §4.4), responses to earlier requests must not be stored. Each exchange
/// compares its number with the history of a key. The cost of an exchange therefore does not depend
/// on the number of exchanges.
final class Recordings: Sendable {
    // One exchange. The mark is created before the request is sent.
    final class Mark: Sendable {
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

        deinit {
            owner.state.withLock { state in
                for key in keys {
                    guard let index = state.histories.index(forKey: key) else { continue }
                    state.histories.values[index].exchanges -= 1
                    if state.histories.values[index].exchanges == 0 {
                        state.histories.remove(at: index)
                    }
                }
            }
        }

        func isSpoiled(_ key: CacheKey) -> Bool {
            owner.state.withLock { $0.histories[key]?.isSpoiled(number) ?? false }
        }

        // Returns false if a change was recorded, or if the response to a later request is stored
        // (RFC 9111 §4 requires the most recent response).
        func mayStore(_ key: CacheKey, _ variant: Variant) -> Bool {
            owner.state.withLock { state in
                state.histories[key]?.store(variant, by: number, latest: state.latest) ?? true
            }
        }
    }

    private struct State {
        var latest = 0
        var histories: [CacheKey: KeyHistory] = [:]
    }

    private let state = Mutex(State())

    init() {}

    func begin(_ keys: [CacheKey], at date: Date) -> Mark {
        let number = state.withLock { state in
            state.latest += 1
            for key in keys { state.histories[key, default: KeyHistory()].exchanges += 1 }
            return state.latest
        }
        return Mark(date, self, keys, number)
    }

    /// Prevents running exchanges from storing under a key, except the exchange with the change.
    func spoil(_ key: CacheKey, except own: Mark? = nil) {
        state.withLock { state in
            state.histories[key]?.change(before: state.latest, by: own?.number ?? 0)
        }
    }

    /// Prevents running exchanges from storing under the keys that fulfil a condition.
    func spoil(where isMeant: (CacheKey) -> Bool) {
        state.withLock { state in
            for key in state.histories.keys where isMeant(key) {
                state.histories[key]?.change(before: state.latest, by: 0)
            }
        }
    }

    var keyCount: Int { state.withLock { $0.histories.count } }
}

// The changes of one key's entries during exchanges that may store an entry.
struct KeyHistory {
    fileprivate(set) var exchanges = 0
    // A change affects all exchanges up to a number, except the exchange that made the change. Only
    // the last change and the last change by a different exchange are needed.
    private var change = 0
    private var maker = 0
    private var changeByOthers = 0
    // For each variant, the latest exchange whose response was stored.
    private var stored: [Variant: Int] = [:]

    static let maxVariants = 1024

    fileprivate init() {}

    /// Records a change that affects the exchanges up to `latest`, except `maker`.
    mutating func change(before latest: Int, by maker: Int) {
        if maker != self.maker { changeByOthers = change }
        change = latest
        self.maker = maker
    }

    func isSpoiled(_ number: Int) -> Bool {
        number <= (number == maker ? changeByOthers : change)
    }

    // Records that an exchange stores a variant. Returns false if storing is not allowed.
    mutating func store(_ variant: Variant, by number: Int, latest: Int) -> Bool {
        if isSpoiled(number) { return false }
        if let last = stored[variant] {
            if last > number { return false }
        } else if stored.count == Self.maxVariants {
            // If one exchange never ends, `stored` would grow without limit. After this reset, the
            // exchanges that have already begun store nothing.
            stored = [:]
            change(before: latest, by: number)
        }
        stored[variant] = number
        return true
    }
}
