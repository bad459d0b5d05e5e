// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The misses of this process for which one call asks the store's claim, and others wait.
final class Claims: Sendable {
    /// How a claim ended.
    enum End: Sendable {
        /// The response can be found.
        case stored
        /// There is none for others: they ask for themselves.
        case notStored
        /// The call ended before it could tell: another one may try.
        case gaveUp
    }

    private let claims = Mutex<[CacheKey: SharedValue<End>]>([:])

    /// Takes the place of the one call that asks, or finds the one that does.
    /// - Returns: The end of the claim, and whether this call is the one.
    func join(_ key: CacheKey) -> (end: SharedValue<End>, isFirst: Bool) {
        claims.withLock { claims in
            if let end = claims[key] { return (end, false) }
            let end = SharedValue<End>()
            claims[key] = end
            return (end, true)
        }
    }

    fileprivate func end(_ key: CacheKey, _ value: SharedValue<End>, _ end: End) {
        let isOpen = claims.withLock { claims in
            guard claims[key] === value else { return false }
            claims[key] = nil
            return true
        }
        if isOpen { value.settle(.success(end)) }
    }
}

/// One call's claim, which ends with it at the latest.
final class Claim: Sendable {
    private let keys: CacheKeys
    private let ended: SharedValue<Claims.End>
    private let state: CacheState
    private let context: Context
    // The store's token, once the claim was granted.
    private let token = Mutex<String?>(nil)

    init(
        _ keys: CacheKeys, _ ended: SharedValue<Claims.End>, _ state: CacheState, _ context: Context
    ) {
        self.keys = keys
        self.ended = ended
        self.state = state
        self.context = context
    }

    deinit { end(.gaveUp) }

    func grant(_ token: String) { self.token.withLock { $0 = token } }

    /// Ends the claim for a response that was stored: others find it only if it is for them too.
    func end(storedUnder key: CacheKey) { end(keys.isPersonal(key) ? .notStored : .stored) }

    /// Ends the claim here and in the store, once.
    func end(_ end: Claims.End) {
        let token = token.withLock { token in
            defer { token = nil }
            return token
        }
        let key = keys.common
        state.claims.end(key, ended, end)
        guard let token else { return }
        // Nobody waits for it: what fails ends with the claim's time.
        state.background.run { [state, context] in
            _ = await state.attempt(context) {
                try await state.store.release(
                    token, of: key, waitersGo: end == .notStored)
            }
        }
    }
}
