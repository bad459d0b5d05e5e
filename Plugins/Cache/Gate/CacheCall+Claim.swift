// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

extension CacheCall {
    // How long a call waits before it looks again for what another replica fetches.
    private static let firstPause = Duration.milliseconds(2)
    private static let longestPause = Duration.milliseconds(50)

    /// Waits for another call's request for the same, in this process or elsewhere, or claims it.
    /// - Returns: The entry, if there is one by now; or this call's claim. Neither, if the call is to
    ///   fetch for itself.
    /// - Throws: What ends the call.
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
            let outcome = try await context.waiting("another call's request") {
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
        return try await context.waiting("another replica's request") { inner in
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

    // nil while somebody else has the claim.
    private func answer(
        _ claim: Claim, _ lookUp: LookUp, until end: MonotonicInstant
    ) async -> (entry: CacheEntry?, claim: Claim?)? {
        switch await state.attempt(context, { try await state.store.claim(keys.common) }) {
        case .granted(let token):
            claim.grant(token)
            // It may have been stored since this call has looked.
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
