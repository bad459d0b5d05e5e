// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCache
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport
import TurnpikeValkey

extension ValkeyStore {
    // For how long after a response that was not stored nobody waits for another one.
    private static let openTime = Duration.seconds(10)

    /// Claims to fetch what was not found.
    public func claim(_ key: CacheKey) async throws -> CacheClaim {
        guard let time = options.fleetLock else { return .unneeded }
        let now = timeSource.now
        let (isAdmitted, name) = state.withLock { state in
            (state.writes.admit(at: now), state.known(key, prefix: options.prefix).key.claim)
        }
        guard isAdmitted else { return .unneeded }
        let token = UUID().uuidString
        let reply = try await admittedWrite {
            try await server.run(
                StoreScripts.claim, keys: [name],
                arguments: [Data(token.utf8), Self.milliseconds(max(time, .milliseconds(1)))],
                within: options.timeLimit)
        }
        switch reply {
        case .integer(-1): return .granted(token: token)
        case .integer(let rest) where rest > 0: return .held(atMost: .milliseconds(rest))
        default: return .unneeded
        }
    }

    /// Ends a claim.
    public func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws {
        let now = timeSource.now
        let (isAdmitted, name) = state.withLock { state in
            (state.writes.admit(at: now), state.known(key, prefix: options.prefix).key.claim)
        }
        guard isAdmitted else { return }
        _ = try await admittedWrite {
            try await server.run(
                StoreScripts.release, keys: [name],
                arguments: [
                    Data(token.utf8), waitersGo ? Self.milliseconds(Self.openTime) : Data("0".utf8),
                ], within: options.timeLimit)
        }
    }
}
