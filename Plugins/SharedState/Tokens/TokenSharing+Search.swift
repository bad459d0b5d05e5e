// SPDX-License-Identifier: Apache-2.0

import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeSupport

extension TokenSharing {
    struct Search {
        private(set) var latest: SharedToken?
        private let job: Job
        private let begin: MonotonicInstant
        private var awaySince: MonotonicInstant?
        // Another replica may be refreshing the token until this time.
        private var heldUntil: MonotonicInstant?
        private var interval = Duration.milliseconds(50)

        private static let longestInterval = Duration.seconds(1)

        init(_ job: Job) {
            self.job = job
            begin = job.timeSource.now
        }

        mutating func isAnswered(with found: Found) {
            // A readable store may be full or read-only. In this case, no lock can be taken.
            latest = found.token ?? latest
        }

        mutating func isUnanswered() { awaySince = awaySince ?? job.timeSource.now }

        mutating func isHeld(for time: Duration) {
            awaySince = nil
            heldUntil = job.timeSource.now.advanced(by: time)
        }

        /// Whether this replica may refresh the token now without a lock.
        func maySend(_ outage: SharedTokens.Outage, after patience: Duration) -> Bool {
            guard outage == .refresh, let awaySince else { return false }
            if !job.spends { return true }
            let now = job.timeSource.now
            return awaySince.duration(to: now) >= patience && heldUntil.map { $0 <= now } ?? true
        }

        mutating func pause() async throws {
            let waited = begin.duration(to: job.timeSource.now)
            guard waited < job.policy.timeLimit else {
                let reason =
                    awaySince == nil
                    ? "another replica refreshes the token, and has not finished within"
                    : "the store of the token has not answered for"
                throw ClientError(.auth, "\(reason) \(waited.text)")
            }
            // A random pause prevents simultaneous requests of the replicas.
            let pause = interval * (0.5 + job.context.random.unit())
            interval = min(interval * 1.5, Self.longestInterval)
            try await job.context.sleep(for: min(pause, job.policy.timeLimit - waited))
        }
    }
}

extension SharedTokens {
    /// The key of the validity mark, which exists while the token is valid by the store's clock.
    var validityKey: String { key + "/valid" }

    /// Stores a token, unless the store has a later token.
    func put(
        _ token: SharedToken, in store: any SharedStore, at date: Date
    ) async throws -> Bool {
        let left = token.token?.expires.map { $0.timeIntervalSince(date) }
        // The limit is ten years. The comparison also handles a value that is not a number.
        let life = left.map { Duration.seconds($0 > 1 ? min($0, 3.2e8) : 1) }
        // A refresh token lives longer than the access token.
        let isKept = token.token?.refreshToken != nil
        guard try await store.store(token.stored, key, for: isKept ? nil : life) else {
            return false
        }
        if let life {
            let mark = StoredToken(Data(), fence: token.fence)
            _ = try await store.store(mark, validityKey, for: life)
        }
        return true
    }
}
