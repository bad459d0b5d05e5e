// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension CacheCall {
    private static let firstPause = Duration.milliseconds(2)
    private static let longestPause = Duration.milliseconds(50)

    /// Claims the fetch of the response, or waits for a call in any process that has the claim.
    ///
    /// Without an entry and without a claim, the call must fetch the response itself.
    func claimed(
        _ lookUp: LookUp, atMost limit: Duration
    ) async throws -> (entry: CacheEntry?, claim: Claim?) {
        let end = context.timeSource.now.advanced(by: limit)
        while true {
            let (ended, isFirst) = state.claims.join(keys.common)
            if isFirst {
                return try await ask(
                    Claim(keys, ended, state, context), lookUp, until: end)
            }
            let outcome = try await context.report(waitingFor: "another call's request") {
                try await wait(for: ended, until: end, $0)
            }
            if let entry = await find(lookUp, context) { return (entry, nil) }
            guard outcome == .gaveUp, context.timeSource.now < end else { return (nil, nil) }
        }
    }

    private func wait(
        for ended: SharedValue<Claims.End>, until end: MonotonicInstant, _ inner: Context
    ) async throws -> Claims.End {
        var registrations: (any TimerToken, CancelRegistration)?
        defer {
            registrations?.0.cancel()
            registrations?.1.end()
        }
        return try await ended.value { waiter in
            let rest = inner.timeSource.now.duration(to: end)
            registrations = (
                inner.timeSource.schedule(after: rest) { waiter.settle(.success(.notStored)) },
                inner.onCancel { waiter.settle(.failure($0.error)) }
            )
        }
    }

    private func ask(
        _ claim: Claim, _ lookUp: LookUp, until end: MonotonicInstant
    ) async throws -> (entry: CacheEntry?, claim: Claim?) {
        if let answer = await answer(claim, lookUp, until: end) { return answer }
        return try await context.report(waitingFor: "another replica's request") { inner in
            let random = inner.random
            var pause = Self.firstPause
            while true {
                try await inner.sleep(for: pause * (0.5 + random.unit()))
                pause = min(pause * 1.5, Self.longestPause)
                if let entry = await find(lookUp, inner) {
                    claim.end(.stored)
                    return (entry, nil)
                }
                if lookUp.hasMetOthers {
                    claim.end(.notStored)
                    return (nil, nil)
                }
                if let answer = await answer(claim, lookUp, until: end) { return answer }
            }
        }
    }

    // Returns nil while another caller has the claim.
    private func answer(
        _ claim: Claim, _ lookUp: LookUp, until end: MonotonicInstant
    ) async -> (entry: CacheEntry?, claim: Claim?)? {
        switch await state.attempt(context, { try await state.store.claim(keys.common) }) {
        case .granted(let token):
            claim.grant(token)
            // Another call may have stored the response after the last look-up.
            guard let entry = await find(lookUp, context) else { return (nil, claim) }
            claim.end(.stored)
            return (entry, nil)
        case .held where context.timeSource.now < end: return nil
        case .held, .unneeded, nil:
            claim.end(.notStored)
            return (nil, nil)
        }
    }
}

// The responses that this process fetches now. For each key, one call holds the claim.
final class Claims: Sendable {
    enum End: Sendable {
        case stored
        /// The response is not for the other calls, which send their own requests.
        case notStored
        /// The call ended without a result. Another call may claim the fetch.
        case gaveUp
    }

    private let claims = Mutex<[CacheKey: SharedValue<End>]>([:])

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

final class Claim: Sendable {
    private let keys: CacheKeys
    private let ended: SharedValue<Claims.End>
    private let state: CacheState
    private let context: Context
    // The token of the claim in the store, or nil before the store has granted the claim.
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

    // Ends the claim. Other calls find the response, unless the response is only for this person.
    func end(storedUnder key: CacheKey) { end(keys.isPersonal(key) ? .notStored : .stored) }

    func end(_ end: Claims.End) {
        let token = token.withLock { token in
            defer { token = nil }
            return token
        }
        let key = keys.common
        state.claims.end(key, ended, end)
        guard let token else { return }
        // No call waits for the release. If the release fails, the claim ends after its time limit.
        state.background.run { [state, context] in
            _ = await state.attempt(context) {
                try await state.store.release(
                    token, of: key, waitersGo: end == .notStored)
            }
        }
    }
}
