import Foundation
import Synchronization

/// The exchanges under way whose responses may be stored, so that a change of what they are about
/// (RFC 9111 §4.4) reaches them too.
final class Recordings: Sendable {
    /// One exchange, from before it was sent.
    final class Mark: Sendable {
        let requestTime: Date
        private let owner: Recordings
        fileprivate let place: Int

        fileprivate init(_ requestTime: Date, _ owner: Recordings, _ place: Int) {
            self.requestTime = requestTime
            self.owner = owner
            self.place = place
        }

        deinit { owner.end(place) }

        /// Whether what stands under a key was changed meanwhile.
        func isSpoiled(_ key: CacheKey) -> Bool { owner.isSpoiled(place, key) }

        /// Whether its response may be stored under a key: nothing that was asked for later was
        /// stored in its place, and nothing was changed (RFC 9111 §4: the most recent one is to be
        /// used).
        func mayStore(_ key: CacheKey, _ variant: Variant) -> Bool {
            owner.mayStore(place, Slot(key: key, variant: variant))
        }
    }

    /// Where one response stands in a store.
    private struct Slot: Hashable {
        let key: CacheKey
        let variant: Variant
    }

    // Each call takes a place, and leaves it. A call that stores or changes something looks at all
    // of them, which are as many as there are exchanges under way.
    private struct State {
        // The later one was asked for later; 0 is nobody's place.
        var numbers: [Int] = []
        // Under which of them a response is stored is known when it is here.
        var keys: [CacheKeys?] = []
        var spoiled: [Set<CacheKey>] = []
        // What others, which were asked for later, have stored meanwhile.
        var newer: [Set<Slot>] = []
        var free: [Int] = []
        var begun = 0

        mutating func begin(_ keys: CacheKeys) -> Int {
            begun += 1
            guard let place = free.popLast() else {
                numbers.append(begun)
                self.keys.append(keys)
                spoiled.append([])
                newer.append([])
                return numbers.count - 1
            }
            numbers[place] = begun
            self.keys[place] = keys
            return place
        }

        mutating func end(_ place: Int) {
            numbers[place] = 0
            keys[place] = nil
            if !spoiled[place].isEmpty { spoiled[place] = [] }
            if !newer[place].isEmpty { newer[place] = [] }
            free.append(place)
        }
    }

    private let state = Mutex(State())

    func begin(_ keys: CacheKeys, at date: Date) -> Mark {
        Mark(date, self, state.withLock { $0.begin(keys) })
    }

    /// Keeps what is under way from being stored, but for what makes the change itself.
    func spoil(_ key: CacheKey, except own: Mark? = nil) { spoil(except: own) { $0 == key } }

    /// Keeps what is under way from being stored under some keys.
    func spoil(except own: Mark? = nil, where isMeant: (CacheKey) -> Bool) {
        state.withLock { state in
            for place in state.numbers.indices where place != own?.place {
                guard let keys = state.keys[place] else { continue }
                for key in keys.all where isMeant(key) { state.spoiled[place].insert(key) }
            }
        }
    }

    private func isSpoiled(_ place: Int, _ key: CacheKey) -> Bool {
        state.withLock { $0.spoiled[place].contains(key) }
    }

    private func mayStore(_ place: Int, _ slot: Slot) -> Bool {
        state.withLock { state in
            if !state.spoiled[place].isEmpty, state.spoiled[place].contains(slot.key) {
                return false
            }
            if !state.newer[place].isEmpty, state.newer[place].contains(slot) { return false }
            for other in state.numbers.indices
            where 1..<state.numbers[place] ~= state.numbers[other] {
                guard let keys = state.keys[other], keys.contains(slot.key) else { continue }
                state.newer[other].insert(slot)
            }
            return true
        }
    }

    private func end(_ place: Int) { state.withLock { $0.end(place) } }
}
