// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeSupport

struct UnsavedToken: Sendable {
    /// The identity of an unsaved token, which distinguishes it from the next unsaved token.
    final class ID: Sendable, Equatable {
        static func == (left: ID, right: ID) -> Bool { left === right }
    }

    let id: ID
    let token: BearerToken?
    let scope: [String]
    /// The lock under which the token was created, if there was a lock.
    var lock: SharedLock?
    /// The fencing number of the replaced token; a higher number in the store means a later token.
    let base: UInt64?
    /// Whether the token comes from a sign-in, and replaces any token of the store.
    var isFromOutside = false
}

extension TokenSharing {
    private static let shortLock = Duration.seconds(5)
    // The longest pause is short, because another replica may take the lock and use the old refresh
    // token. While the store is unreachable, an attempt costs nothing.
    private static let longestPause = Duration.milliseconds(250)

    func replace(with token: BearerToken?, scope: [String]) {
        state.withLock { state in
            state.unsaved = UnsavedToken(
                id: UnsavedToken.ID(), token: token, scope: scope, lock: nil, base: nil,
                isFromOutside: true)
        }
        saveUnsaved()
    }

    /// Begins to store the unsaved token, because a call has now brought a clock.
    func use(_ timeSource: any TimeSource, tell: @escaping @Sendable (String) -> Void) {
        let isDue = state.withLock { state in
            state.saving = (timeSource, tell)
            return state.unsaved != nil && !state.isSaving
        }
        if isDue { saveUnsaved() }
    }

    func saveUnsaved() {
        let saving = state.withLock { state in
            guard !state.isSaving, state.unsaved != nil, let saving = state.saving else {
                return (timeSource: any TimeSource, tell: @Sendable (String) -> Void)?.none
            }
            state.isSaving = true
            return saving
        }
        guard let (timeSource, tell) = saving else { return }
        // The task ends when the token is stored, when another token has replaced it, or when the
        // tokens are released. No call waits for the task.
        _ = Task.apart { [weak self] in
            var pause = Duration.milliseconds(100)
            while await self?.saveOnce(timeSource, tell) == false {
                let moment = OneShot<Void>()
                let timer = timeSource.schedule(after: pause) { moment.settle(.success(())) }
                defer { timer.cancel() }
                pause = min(pause * 2, Self.longestPause)
                try? await moment.value {}
            }
        }
    }

    // Returns whether no token is left to store.
    private func saveOnce(
        _ timeSource: any TimeSource, _ tell: @escaping @Sendable (String) -> Void
    ) async -> Bool {
        let unsaved = state.withLock { state in
            if state.unsaved == nil { state.isSaving = false }
            return state.unsaved
        }
        guard let unsaved else { return true }
        guard let lock = await lock(for: unsaved, timeSource, tell) else { return false }
        // Another token may have replaced this token, and may already be stored.
        guard state.withLock({ $0.unsaved?.id == unsaved.id }) else {
            if unsaved.lock == nil { await unlock(lock, timeSource, tell) }
            return false
        }
        let shared = shared
        let isDone = try? await shared.state.access.ask(
            "a place for the token", by: timeSource, limit: .seconds(1), tell: tell
        ) { store in
            if unsaved.lock == nil, !unsaved.isFromOutside,
                let present = try await store.token(shared.key), present.fence > unsaved.base ?? 0
            {
                // Another replica has refreshed the token since. The next refresh here finds the
                // new token.
                return UInt64?.none
            }
            let new = SharedToken(unsaved.token, scope: unsaved.scope, fence: lock.fence)
            let isStored = try await shared.put(new, in: store, at: timeSource.date)
            return isStored ? lock.fence : nil
        }
        guard let isDone else { return false }
        state.withLock { state in
            guard state.unsaved?.id == unsaved.id else { return }
            if isDone == nil, unsaved.isFromOutside {
                // The lock of this token has ended, so the token is stored under another lock.
                state.unsaved?.lock = nil
                return
            }
            state.unsaved = nil
            if let fence = isDone { state.fence = fence }
        }
        await unlock(lock, timeSource, tell)
        // Another unsaved token may have come meanwhile.
        return false
    }

    private func lock(
        for unsaved: UnsavedToken, _ timeSource: any TimeSource,
        _ tell: @escaping @Sendable (String) -> Void
    ) async -> SharedLock? {
        if let lock = unsaved.lock { return lock }
        let key = shared.key
        let answer = try? await shared.state.access.ask(
            "the lock of the token", by: timeSource, limit: .seconds(1), tell: tell
        ) { store in try await store.lock(key, for: Self.shortLock) }
        if case .taken(let lock) = answer { return lock }
        return nil
    }
}
