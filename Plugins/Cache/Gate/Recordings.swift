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

    // Places are taken and left by each call; who stores or changes something looks at all of them,
    // which are as many as there are exchanges under way. What of them is of no matter to it is
    // neither copied nor read.
    private struct State {
        // The later one was asked for later; 0 is nobody's place.
        var numbers: [Int] = []
        var keys: [CacheKey?] = []
        var isSpoiled: [Bool] = []
        // What others, which were asked for later, have stored meanwhile.
        var newer: [Set<Variant>] = []
        var free: [Int] = []
        var begun = 0

        mutating func begin(_ key: CacheKey) -> Int {
            begun += 1
            guard let place = free.popLast() else {
                numbers.append(begun)
                keys.append(key)
                isSpoiled.append(false)
                newer.append([])
                return numbers.count - 1
            }
            numbers[place] = begun
            keys[place] = key
            return place
        }

        mutating func end(_ place: Int) {
            numbers[place] = 0
            keys[place] = nil
            isSpoiled[place] = false
            if !newer[place].isEmpty { newer[place] = [] }
            free.append(place)
        }
    }

    private let state = Mutex(State())

    func begin(_ key: CacheKey, at date: Date) -> Mark {
        Mark(key, date, self, state.withLock { $0.begin(key) })
    }

    /// Keeps what is under way from being stored, but for what makes the change itself.
    func spoil(_ key: CacheKey, except own: Mark? = nil) { spoil(except: own) { $0 == key } }

    /// Keeps what is under way for some keys from being stored.
    func spoil(except own: Mark? = nil, where isMeant: (CacheKey) -> Bool) {
        state.withLock { state in
            for place in state.numbers.indices where place != own?.place {
                guard let key = state.keys[place], isMeant(key) else { continue }
                state.isSpoiled[place] = true
            }
        }
    }

    private func isSpoiled(_ place: Int) -> Bool { state.withLock { $0.isSpoiled[place] } }

    private func mayStore(_ place: Int, _ variant: Variant) -> Bool {
        state.withLock { state in
            if state.isSpoiled[place] { return false }
            if !state.newer[place].isEmpty, state.newer[place].contains(variant) { return false }
            for other in state.numbers.indices
            where 1..<state.numbers[place] ~= state.numbers[other] {
                if state.keys[other] != state.keys[place] { continue }
                state.newer[other].insert(variant)
            }
            return true
        }
    }

    private func end(_ place: Int) { state.withLock { $0.end(place) } }
}
