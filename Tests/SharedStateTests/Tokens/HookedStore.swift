// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import TurnpikeAuthentication
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

/// A store in memory that refuses to write when a test says so, and tells when it is used.
final class HookedStore: SharedStore {
    struct Full: Error {}

    private struct State {
        var isFull = false
        var afterRead: (@Sendable () -> Void)?
        var beforeLock: (@Sendable () async throws -> Void)?
    }

    let memory: MemorySharedStore
    private let state = Mutex(State())

    init(_ memory: MemorySharedStore) { self.memory = memory }

    /// Whether it refuses to write, as a server whose memory is full does, or one that is read-only.
    var isFull: Bool {
        get { state.withLock { $0.isFull } }
        set { state.withLock { $0.isFull = newValue } }
    }

    /// Runs something once, when the next token has been read.
    func afterRead(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.afterRead = body }
    }

    /// Runs something once, before the next lock is taken.
    func beforeLock(_ body: @escaping @Sendable () async throws -> Void) {
        state.withLock { $0.beforeLock = body }
    }

    private func writing() throws { if isFull { throw Full() } }

    func take(_ request: QuotaRequest) async throws -> QuotaAnswer {
        try writing()
        return await memory.take(request)
    }

    func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws {
        try writing()
        await memory.giveBack(permits, to: key, rules: rules)
    }

    func lower(to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]) async throws {
        try writing()
        await memory.lower(to: remaining, of: key, rule: rule, rules: rules)
    }

    func coolDown(for duration: Duration, _ key: String) async throws {
        try writing()
        await memory.coolDown(for: duration, key)
    }

    func cooldown(of key: String) async throws -> Duration? { await memory.cooldown(of: key) }

    func token(_ key: String) async throws -> StoredToken? {
        let token = await memory.token(key)
        let hook = state.withLock { state in
            defer { state.afterRead = nil }
            return state.afterRead
        }
        hook?()
        return token
    }

    func store(_ token: StoredToken, _ key: String, for lifetime: Duration?) async throws -> Bool {
        try writing()
        return await memory.store(token, key, for: lifetime)
    }

    func lock(_ key: String, for duration: Duration) async throws -> LockAnswer {
        try writing()
        let hook = state.withLock { state in
            defer { state.beforeLock = nil }
            return state.beforeLock
        }
        try await hook?()
        return await memory.lock(key, for: duration)
    }

    func unlock(_ lock: SharedLock) async throws {
        try writing()
        await memory.unlock(lock)
    }

    func beat(_ replica: String, of group: String, for lifetime: Duration) async throws -> Int {
        try writing()
        return await memory.beat(replica, of: group, for: lifetime)
    }
}

/// A clock that runs something once, when it is asked for the date next.
final class HookedClock: TimeSource {
    private let base: any TimeSource
    private let hook = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ base: any TimeSource) { self.base = base }

    func atNextDate(_ body: @escaping @Sendable () -> Void) { hook.withLock { $0 = body } }

    var now: MonotonicInstant { base.now }

    var date: Date {
        let body = hook.withLock { hook in
            defer { hook = nil }
            return hook
        }
        body?()
        return base.date
    }

    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken { base.schedule(after: delay, handler) }
}

/// A replica whose provider spends refresh tokens, and whose store and clock have hooks.
struct Hooked {
    let authority: RotatingAuthority
    let store: HookedStore
    let clock: HookedClock
    let simulation: Simulation

    init(
        _ simulation: Simulation, life: Duration = .seconds(3600),
        clockOfStore: (any TimeSource)? = nil
    ) {
        self.simulation = simulation
        authority = RotatingAuthority(
            simulation.clock, life: life, answeringAfter: .milliseconds(300))
        clock = HookedClock(simulation.clock)
        store = HookedStore(
            MemorySharedStore(timeSource: clockOfStore ?? simulation.clock))
    }

    var stored: BearerToken? {
        get async { await store.memory.token("account").flatMap { SharedToken($0)?.token } }
    }

    func replica(
        _ first: BearerToken, onOutage: SharedTokens.Outage? = nil
    ) throws -> TokenFleet.Replica {
        let endpoint = TokenEndpoint("http://a.example/token")
        let tokens = BearerTokens(
            first, provider: RefreshTokenGrant(endpoint),
            shared: try SharedTokens(
                SharedState(store, replicas: 2), key: "account", storesSecrets: true,
                onOutage: onOutage))
        let client = Client(authority.transport(), clock: clock, [.bearer(tokens)])
        return TokenFleet.Replica(client: client, tokens: tokens)
    }
}
