// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeSupport

/// Refreshes a token once for all replicas; see ``SharedTokens``.
final class TokenSharing: BearerTokenSharing {
    @dynamicMemberLookup
    struct Job: Sendable {
        let refresh: SharedRefresh
        /// The fencing number of the old token in the store, or nil if the old token is not stored.
        let fence: UInt64?
        /// The token that was not yet stored at the begin of the refresh.
        let unsaved: UnsavedToken.ID?

        var timeSource: any TimeSource { refresh.context.timeSource }

        subscript<Value>(dynamicMember path: KeyPath<SharedRefresh, Value>) -> Value {
            refresh[keyPath: path]
        }
    }

    /// The clock, the log and the time limits for operations on the store.
    struct Caller: Sendable {
        let timeSource: any TimeSource
        let tell: @Sendable (String) -> Void
        var limit = Duration.seconds(1)
        /// The limit of the first operation, which may include connecting.
        var firstLimit: Duration?
    }

    struct State {
        /// The fencing number of the current token in the store, or nil if the token is not stored.
        var fence: UInt64?
        /// The token to store later, after a missing answer of the store or a token from outside.
        var unsaved: UnsavedToken?
        /// The clock and the log of the last call, for storing the unsaved token.
        var saving: Caller?
        var isSaving = false
    }

    let shared: SharedTokens
    let state = Mutex(State())

    // The time by which the lock lasts longer than a refresh, for operations on the store.
    private static let margin = Duration.seconds(5)
    // The time for which a store must be unreachable before a refresh token is used without a lock.
    private static let patience = Duration.seconds(1)
    // The longest time of an operation. A rate limit allows less time, but tokens are refreshed at
    // most once a second.
    private static let slowest = Duration.milliseconds(250)
    // The time includes connecting, because replicas that start together must not all sign in.
    private static let firstLimit = Duration.seconds(2)

    init(_ shared: SharedTokens) { self.shared = shared }

    /// The effect by which the gate's waits for the store count as waits for a token.
    var effect: GateEffect {
        .sharesState(.secrets, isHidden: shared.state.store.hidesTraffic, atMost: .zero)
    }

    /// Returns a new token from the store or the provider, or nil to use the current token.
    func token(for refresh: SharedRefresh) async throws -> BearerToken? {
        // Another refresh of this replica may store a token while this refresh runs.
        let job = state.withLock {
            Job(refresh: refresh, fence: $0.fence, unsaved: $0.unsaved?.id)
        }
        var search = Search(job)
        while true {
            if let found = try await read(job) {
                search.isAnswered(with: found)
                if let token = try await adopt(found.token, job) { return token }
                if job.isLook { return nil }
                switch try await lock(job) {
                case .taken(let lock):
                    if let token = try await token(under: lock, job) { return token }
                case .held(let time): search.isHeld(for: time)
                case nil: search.isUnanswered()
                }
            } else {
                if job.isLook { return nil }
                search.isUnanswered()
            }
            if search.maySend(shared.outage(spends: job.spends), after: Self.patience) {
                return try await sendAlone(search.latest, job)
            }
            try await search.pause()
        }
    }

    // Refreshes the token under a lock, or returns nil if the search in the store must restart.
    private func token(under lock: SharedLock, _ job: Job) async throws -> BearerToken? {
        do {
            let found = try await read(job)
            if found == nil, job.spends {
                // The store may have another refresh token than this replica.
                await unlock(lock, caller(job))
                return nil
            }
            if let token = try await adopt(found?.token, job) {
                await unlock(lock, caller(job))
                return token
            }
            let token = try await job.request(base(found?.token, job))
            return try await save(token, under: lock, job)
        } catch {
            await unlock(lock, caller(job))
            // If the lock of this replica has ended, another replica may have refreshed the token.
            if let found = try await read(job), let token = try await adopt(found.token, job) {
                return token
            }
            throw error
        }
    }

    private func save(
        _ token: BearerToken, under lock: SharedLock, _ job: Job
    ) async throws -> BearerToken {
        let unsaved = keep(token, lock, job)
        // Even after a failure, the new token is valid, and the old refresh token may be used up.
        switch try? await put(unsaved, under: lock, caller(job)) {
        case true?: return token
        case false? where unsaved.isFromOutside: saveUnsaved()
        case false?:
            // The other replicas use the later token and the later refresh token.
            job.note("the lock of the token had expired; the token of another replica is used")
            if let found = try await read(job), let other = found.token?.token {
                state.withLock { $0.fence = found.token?.fence }
                return other
            }
        case nil:
            job.note("the new token will be stored when the store answers again")
            saveUnsaved()
        }
        return token
    }

    private func sendAlone(_ latest: SharedToken?, _ job: Job) async throws -> BearerToken {
        job.note("the store does not answer; this replica refreshes the token by itself")
        let token = try await job.request(base(latest, job))
        _ = keep(token, nil, job)
        saveUnsaved()
        return token
    }

    // A token from a sign-in during the refresh remains the unsaved token. A refresh of this token
    // replaces the unsaved token, because the refresh token may be used up.
    private func keep(_ token: BearerToken, _ lock: SharedLock?, _ job: Job) -> UnsavedToken {
        state.withLock { state in
            let signIn = state.unsaved.flatMap { $0.isFromOutside ? $0.id : nil }
            let isNewer = signIn != nil && signIn != job.unsaved
            let unsaved = UnsavedToken(
                token: token, scope: job.scope, lock: lock, base: state.fence,
                isFromOutside: signIn != nil && !isNewer)
            if !isNewer { state.unsaved = unsaved }
            return unsaved
        }
    }

    // MARK: Decisions

    // Returns the token of the store if this token should replace the current token.
    private func adopt(_ found: SharedToken?, _ job: Job) async throws -> BearerToken? {
        guard let found, let token = found.token, token.value != job.old?.value,
            found.scope == job.scope, isNewer(found, job), try await isValid(found, job)
        else { return nil }
        return state.withLock { state in
            // A token from outside may have arrived during the check.
            if state.unsaved?.isFromOutside == true { return nil }
            state.fence = found.fence
            state.unsaved = nil
            return token
        }
    }

    private func base(_ found: SharedToken?, _ job: Job) -> BearerToken? {
        // A replica that signs out removes the token. In this case, the old token must not be used.
        if let found, isNewer(found, job) { return found.token }
        return job.old
    }

    private func isNewer(_ found: SharedToken, _ job: Job) -> Bool {
        if state.withLock({ $0.unsaved?.isFromOutside == true }) { return false }
        return job.fence.map { found.fence > $0 } ?? true
    }

    // The clock of a replica may be wrong. A token that has expired by this clock is still valid if
    // the store's validity mark exists.
    private func isValid(_ found: SharedToken, _ job: Job) async throws -> Bool {
        guard let expires = found.token?.expires, expires <= job.timeSource.date else {
            return true
        }
        let key = shared.validityKey
        let mark = try await ask("the age of the token", job) { store in try await store.token(key)
        }
        return mark??.fence == found.fence
    }

    // MARK: The store

    // The result is nil without an answer. The token in the result is nil without a stored token.
    private func read(_ job: Job) async throws -> Found? {
        let key = shared.key
        guard
            let stored = try await ask("the token", job, { store in try await store.token(key) })
        else { return nil }
        guard let stored else { return Found(token: nil) }
        let token = SharedToken(stored)
        if token == nil {
            job.note("the store has an unreadable token of \(stored.content.count) bytes")
        }
        return Found(token: token)
    }

    struct Found: Sendable {
        let token: SharedToken?
    }

    private func lock(_ job: Job) async throws -> LockAnswer? {
        let time = job.spends ? job.policy.answerLimit : job.policy.timeLimit
        return try await lock(for: time + Self.margin, caller(job))
    }

    private func ask<Answer: Sendable>(
        _ what: String, _ job: Job,
        _ operation: @escaping @Sendable (any SharedStore) async throws -> Answer
    ) async throws -> Answer? {
        try await ask(what, caller(job), operation)
    }

    private func caller(_ job: Job) -> Caller {
        Caller(
            timeSource: job.timeSource, tell: job.note,
            limit: max(shared.state.timeLimit, job.spends ? Self.slowest : .zero),
            // A search without a need for a new token must be short, because valid tokens wait too.
            firstLimit: job.isLook ? nil : min(Self.firstLimit, job.policy.timeLimit))
    }
}
