// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeSupport

struct UnsavedToken: Sendable {
    /// The identity of an unsaved token.
    final class ID: Sendable, Equatable {
        static func == (left: ID, right: ID) -> Bool { left === right }
    }

    let id = ID()
    let token: BearerToken?
    let scope: [String]
    /// The lock under which the token was created, or nil.
    var lock: SharedLock?
    // The fencing number of the replaced token. A higher number in the store means a later token.
    let base: UInt64?
    /// Whether the token comes from a sign-in, and replaces any token of the store.
    let isFromOutside: Bool
}

extension TokenSharing {
    private static let shortLock = Duration.seconds(5)
    // The longest pause is short, because another replica may take the lock and use the old refresh
    // token. While the store is unreachable, an attempt costs no operation.
    private static let longestPause = Duration.milliseconds(250)

    func replace(with token: BearerToken?, scope: [String]) {
        state.withLock { state in
            state.unsaved = UnsavedToken(
                token: token, scope: scope, lock: nil, base: nil, isFromOutside: true)
        }
        saveUnsaved()
    }

    /// Records the clock and the log of a call, and begins to store the unsaved token.
    func use(_ timeSource: any TimeSource, tell: @escaping @Sendable (String) -> Void) {
        state.withLock { $0.saving = Caller(timeSource: timeSource, tell: tell) }
        saveUnsaved()
    }

    func saveUnsaved() {
        let saving = state.withLock { state -> Caller? in
            guard !state.isSaving, state.unsaved != nil, let saving = state.saving else {
                return nil
            }
            state.isSaving = true
            return saving
        }
        guard let saving else { return }
        // The task ends when the token is stored, when another token has replaced it, or when the
        // tokens are released. No call waits for the task.
        _ = Task.apart { [weak self] in
            var pause = Duration.milliseconds(100)
            while await self?.saveOnce(saving) == false {
                let moment = OneShot<Void>()
                let timer = saving.timeSource.schedule(after: pause) {
                    moment.settle(.success(()))
                }
                defer { timer.cancel() }
                pause = min(pause * 2, Self.longestPause)
                try? await moment.value {}
            }
        }
    }

    // Returns whether no token is left to store.
    private func saveOnce(_ caller: Caller) async -> Bool {
        let unsaved = state.withLock { state in
            if state.unsaved == nil { state.isSaving = false }
            return state.unsaved
        }
        guard let unsaved else { return true }
        var lock = unsaved.lock
        if lock == nil, case .taken(let new)? = try? await self.lock(for: Self.shortLock, caller) {
            lock = new
        }
        guard let lock else { return false }
        // Another token may have replaced this token, and may already be stored.
        guard state.withLock({ $0.unsaved?.id == unsaved.id }) else {
            if unsaved.lock == nil { await unlock(lock, caller) }
            return false
        }
        _ = try? await put(unsaved, under: lock, caller)
        // Another unsaved token may have arrived.
        return false
    }

    // MARK: The store

    // Stores a token and unlocks. Returns false if the store has a later token, and nil without an
    // answer.
    func put(
        _ unsaved: UnsavedToken, under lock: SharedLock, _ caller: Caller
    ) async throws -> Bool? {
        let shared = shared
        let isStored = try await ask(
            "a place for the token", caller,
            late: { [self] isStored in
                if isStored { isPut(unsaved, under: lock, isStored: true) }
            }
        ) { store in
            if unsaved.lock == nil, !unsaved.isFromOutside,
                let present = try await store.token(shared.key), present.fence > unsaved.base ?? 0
            {
                // Another replica has refreshed the token. The next refresh here finds the new
                // token.
                return false
            }
            let new = SharedToken(unsaved.token, scope: unsaved.scope, fence: lock.fence)
            return try await shared.put(new, in: store, at: caller.timeSource.date)
        }
        guard let isStored else { return nil }
        isPut(unsaved, under: lock, isStored: isStored)
        await unlock(lock, caller)
        return isStored
    }

    private func isPut(_ unsaved: UnsavedToken, under lock: SharedLock, isStored: Bool) {
        state.withLock { state in
            guard state.unsaved?.id == unsaved.id else { return }
            if !isStored, unsaved.isFromOutside {
                // The lock has ended. The token must be stored under another lock.
                state.unsaved?.lock = nil
                return
            }
            state.unsaved = nil
            if isStored { state.fence = lock.fence }
        }
    }

    func lock(for time: Duration, _ caller: Caller) async throws -> LockAnswer? {
        let key = shared.key
        return try await ask(
            "the lock of the token", caller,
            late: { [self] answer in
                // A late lock must be released, because the lock would delay all replicas.
                guard case .taken(let lock) = answer else { return }
                // The task ends by itself, because every operation of a store ends by itself.
                _ = Task.apart { [self] in await unlock(lock, caller) }
            }
        ) { store in try await store.lock(key, for: time) }
    }

    func unlock(_ lock: SharedLock, _ caller: Caller) async {
        var caller = caller
        caller.limit = shared.state.timeLimit
        // After a failure, the lock ends by itself.
        _ = try? await ask("the end of a lock", caller) { store in try await store.unlock(lock) }
    }

    func ask<Answer: Sendable>(
        _ what: String, _ caller: Caller,
        late: @escaping @Sendable (Answer) -> Void = { _ in },
        _ operation: @escaping @Sendable (any SharedStore) async throws -> Answer
    ) async throws -> Answer? {
        try await shared.state.access.ask(
            what, by: caller.timeSource, limit: caller.limit, firstLimit: caller.firstLimit,
            tell: caller.tell, late: late, operation)
    }
}
