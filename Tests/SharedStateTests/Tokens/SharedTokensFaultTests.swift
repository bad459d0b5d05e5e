// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeAuthentication
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("A token that replicas share, when something comes between")
struct SharedTokensFaultTests {
    private typealias Replica = TokenFleet.Replica

    private static func pause(_ duration: Duration, _ simulation: Simulation) async throws {
        try await Context(timeSource: simulation.clock).sleep(for: duration)
    }

    private static let first = BearerToken("secret-a0", refreshToken: "secret-r0")

    // MARK: A full store

    @Test("With a store that is full but can be read, a replica refreshes by itself after a second")
    func full() async throws {
        try await Simulation(seed: 1).run { simulation in
            let hooked = Hooked(simulation)
            hooked.store.isFull = true
            let replica = try hooked.replica(Self.first, onOutage: .refresh)
            #expect(try await replica.call() == "in")
            #expect(simulation.elapsed >= .seconds(1) && simulation.elapsed < .seconds(3))
            #expect(hooked.authority.refreshes == ["secret-r0"])
            #expect(await hooked.stored == nil)
            hooked.store.isFull = false
            try await Self.pause(.seconds(1), simulation)
            #expect(await hooked.stored?.value == "secret-a1")
        }
    }

    @Test("With a full store, a replica that waits in an outage sends nothing")
    func fullAndWaiting() async throws {
        try await Simulation(seed: 1).run { simulation in
            let hooked = Hooked(simulation)
            hooked.store.isFull = true
            let replica = try hooked.replica(Self.first)
            let error = await #expect(throws: ClientError.self) { try await replica.call() }
            #expect(error?.code == .auth)
            #expect(hooked.authority.refreshes == [])
            hooked.store.isFull = false
            #expect(try await replica.call() == "in")
            #expect(hooked.authority.refreshes == ["secret-r0"])
        }
    }

    // MARK: A cancelled refresh

    @Test("A refresh that is cancelled while its token is stored loses neither token nor place")
    func cancelledInSave() async throws {
        try await Simulation(seed: 1).run { simulation in
            let memory = MemorySharedStore(timeSource: simulation.clock)
            let store = FaultySharedStore(memory, seed: 1, timeSource: simulation.clock)
            let policy = RefreshPolicy(timeLimit: .seconds(2))
            let answered = policy.answerLimit - .milliseconds(100)
            let provider = CountingProvider { _, exchange in
                try await exchange.context.sleep(for: answered)
                // The refresh ends at its limit, before the store could time out.
                store.setOutage(.silence)
            }
            let tokens = BearerTokens(
                provider: provider, policy: policy,
                shared: try SharedTokens(
                    SharedState(store, replicas: 2), key: "account", storesSecrets: true))
            let client = Client(guarded { $0 == "t1" }, clock: simulation.clock, [.bearer(tokens)])
            await expectError(.auth) { try await client.get(anywhere).response() }
            try await Self.pause(answered + .milliseconds(200) - simulation.elapsed, simulation)
            #expect(simulation.elapsed < policy.answerLimit + .milliseconds(150))
            #expect(tokens.current?.value == "t1")
            #expect(await memory.token("account") == nil)
            store.setOutage(nil)
            // No call is needed for it.
            try await Self.pause(.seconds(3), simulation)
            let stored = try #require(await memory.token("account"))
            #expect(SharedToken(stored)?.token?.value == "t1" && !memory.isLocked("account"))
            #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
            #expect(provider.count == 1)
        }
    }

    @Test("A refresh that is cancelled while it reads the token under its lock ends the lock")
    func cancelledUnderLock() async throws {
        try await Simulation(seed: 1).run { simulation in
            let hooked = HookedStore(MemorySharedStore(timeSource: simulation.clock))
            let store = FaultySharedStore(hooked, seed: 1, timeSource: simulation.clock)
            let state = SharedState(store, timeLimit: .seconds(1), replicas: 2)
            let shared = try SharedTokens(state, key: "account", storesSecrets: true)
            let refresh = SharedRefresh(
                old: nil, isLook: false, scope: [], policy: RefreshPolicy(), spends: false,
                context: Context(timeSource: simulation.clock), note: { _ in },
                request: { _ in Self.first })
            hooked.beforeLock { store.setOutage(.delay(.milliseconds(900))) }
            await #expect(throws: CancellationError.self) {
                try await withThrowingTaskGroup(of: BearerToken?.self) { group in
                    group.addTask { try await TokenSharing(shared).token(for: refresh) }
                    try await Self.pause(.milliseconds(500), simulation)
                    #expect(hooked.memory.isLocked("account"))
                    store.setOutage(nil)
                    group.cancelAll()
                    _ = try await group.next()
                }
            }
            try await Self.pause(.seconds(1), simulation)
            #expect(!hooked.memory.isLocked("account"))
        }
    }

    // MARK: The clock of the store

    @Test("If the clock of the store ends a lock early, the token of the later lock is used by all")
    func jump() async throws {
        try await Simulation(seed: 1).run { simulation in
            let clock = simulation.clock
            let store = MemorySharedStore(
                timeSource: JumpingClock(clock, (after: .seconds(1), by: .seconds(3600))))
            let provider = CountingProvider { number, exchange in
                try await exchange.context.sleep(for: .seconds(number == 1 ? 10 : 1))
            }
            let replicas = try (0..<2).map { _ in
                let tokens = BearerTokens(
                    provider: provider,
                    shared: try SharedTokens(
                        SharedState(store, replicas: 2), key: "account", storesSecrets: true))
                return Replica(
                    client: Client(guarded { $0 == "t2" }, clock: clock, [.bearer(tokens)]),
                    tokens: tokens)
            }
            async let early = replicas[0].call()
            try await Self.pause(.milliseconds(1500), simulation)
            #expect(try await replicas[1].call() == "in")
            #expect(simulation.elapsed < .seconds(4))
            #expect(try await early == "in")
            #expect(simulation.elapsed >= .seconds(10) && simulation.elapsed < .seconds(11))
            #expect(replicas.map(\.tokens.current?.value) == ["t2", "t2"])
            let stored = try #require(await store.token("account"))
            #expect(SharedToken(stored)?.token?.value == "t2" && provider.count == 2)
        }
    }

    // MARK: A part of the replicas

    @Test("Of replicas that cannot reach the store, those that spend refresh tokens wait for it")
    func cutOff() async throws {
        try await Simulation(seed: 1).run { simulation in
            let fleet = TokenFleet(simulation, life: .seconds(3600))
            let whole = try fleet.replica()
            #expect(try await whole.call() == "in")
            let cut = FaultySharedStore(fleet.memory, seed: 1, timeSource: simulation.clock)
            cut.setOutage(.refusal)
            let waiting = try fleet.replica(over: cut)
            await expectError(.auth) { try await waiting.call() }
            #expect(try await whole.call() == "in")
            #expect(fleet.authority.refreshes == ["secret-r0"])
            cut.setOutage(nil)
            // The failure of the refresh itself comes at the same moment as that of its call.
            try await Self.pause(.seconds(1), simulation)
            #expect(try await waiting.call() == "in")
            #expect(fleet.authority.refreshes == ["secret-r0"])
            // A provider that spends none has no reason to wait.
            cut.setOutage(.refusal)
            let provider = CountingProvider(spendsRefreshToken: false)
            let tokens = BearerTokens(
                provider: provider,
                shared: try SharedTokens(
                    SharedState(cut, replicas: 2), key: "another", storesSecrets: true))
            let client = Client(guarded { $0 == "t1" }, clock: simulation.clock, [.bearer(tokens)])
            let begin = simulation.elapsed
            #expect(try await client.get(anywhere).serialize(with: Text()) == "in")
            #expect(simulation.elapsed - begin < .milliseconds(100))
        }
    }

    // MARK: A dead store

    @Test("A dead store is asked for a place every quarter of a second, whatever the calls")
    func unsavedToken() async throws {
        try await Simulation(seed: 1).run { simulation in
            let meter = MetricsStore()
            let fleet = TokenFleet(simulation, life: .seconds(3600))
            fleet.store.setOutage(.refusal)
            let replica = try fleet.replica(onOutage: .refresh, meter: meter)
            #expect(try await replica.call() == "in")
            func tries() -> Double {
                meter.figures.filter {
                    ["turnpike.shared_state.failures", "turnpike.shared_state.skipped"]
                        .contains($0.key.name)
                }.values.reduce(0, +)
            }
            let begin = (tries: tries(), operations: fleet.store.operationCount)
            for _ in 0..<2000 {
                #expect(try await replica.call() == "in")
                try await Self.pause(.milliseconds(5), simulation)
            }
            // Ten seconds.
            let count = tries() - begin.tries
            #expect(count >= 35 && count <= 45, "\(count)")
            #expect(fleet.store.operationCount - begin.operations <= 45)
            fleet.store.setOutage(nil)
            try await Self.pause(.milliseconds(500), simulation)
            let stored = try #require(await fleet.memory.token("account"))
            #expect(SharedToken(stored)?.token?.value == "secret-a1")
        }
    }
}
