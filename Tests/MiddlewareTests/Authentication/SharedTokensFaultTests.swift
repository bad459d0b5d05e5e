// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("A token that replicas share, when something comes between")
struct SharedTokensFaultTests {
    private typealias Replica = TokenFleet.Replica

    /// A replica whose provider spends refresh tokens, and whose store and clock have hooks.
    private struct Hooked {
        let authority: RotatingAuthority
        let store: HookedStore
        let clock: HookedClock
        let simulation: Simulation

        init(_ simulation: Simulation, life: Duration = .seconds(3600)) {
            self.simulation = simulation
            authority = RotatingAuthority(
                simulation.clock, life: life, answeringAfter: .milliseconds(300))
            clock = HookedClock(simulation.clock)
            store = HookedStore(MemorySharedStore(timeSource: simulation.clock))
        }

        var stored: BearerToken? {
            get async { await store.memory.token("account").flatMap { SharedToken($0)?.token } }
        }

        func replica(_ first: BearerToken, onOutage: SharedTokens.Outage? = nil) throws -> Replica {
            let endpoint = TokenEndpoint(
                URL(string: "http://a.example/token") ?? URL(filePath: "/"))
            let tokens = BearerTokens(
                first, provider: RefreshTokenGrant(endpoint),
                shared: try SharedTokens(
                    SharedState(store, replicas: 2), key: "account", storesSecrets: true,
                    onOutage: onOutage))
            let client = Client(authority.transport(), clock: clock, [.bearer(tokens)])
            return Replica(client: client, tokens: tokens)
        }
    }

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
            await #expect(throws: ClientError.self) { try await client.get(anywhere).response() }
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

    // MARK: A sign-in

    @Test("A sign-in wins over a token of the store that is being taken at that moment")
    func signInWhileAdopting() async throws {
        for seed in UInt64(0)..<10 {
            try await Simulation(seed: seed).run { simulation in
                let hooked = Hooked(simulation)
                let other = BearerToken(
                    "secret-b", expires: simulation.clock.date.addingTimeInterval(3600),
                    refreshToken: "secret-rb")
                let present = SharedToken(other, scope: [], fence: 0)
                _ = await hooked.store.memory.store(present.stored, "account", for: nil)
                let replica = try hooked.replica(Self.first)
                let signIn = BearerToken("secret-c", refreshToken: "secret-rc")
                hooked.store.afterRead {
                    // It looks at the date to see whether the token has expired.
                    hooked.clock.atNextDate { replica.tokens.replace(with: signIn) }
                }
                _ = try? await replica.call()
                try await Self.pause(.seconds(1), simulation)
                #expect(await hooked.stored == signIn, "seed \(seed)")
            }
        }
    }

    @Test("A sign-in that could not be stored is not replaced by what the store has")
    func signInWithFullStore() async throws {
        try await Simulation(seed: 1).run { simulation in
            let hooked = Hooked(simulation)
            let old = SharedToken(
                BearerToken("secret-b", refreshToken: "secret-rb"), scope: [], fence: 0)
            _ = await hooked.store.memory.store(old.stored, "account", for: nil)
            hooked.store.isFull = true
            let replica = try hooked.replica(
                BearerToken("secret-x", refreshToken: "secret-rx"), onOutage: .refresh)
            replica.tokens.replace(with: BearerToken("secret-c", refreshToken: "secret-r0"))
            #expect(try await replica.call() == "in")
            #expect(hooked.authority.refreshes == ["secret-r0"])
            hooked.store.isFull = false
            try await Self.pause(.seconds(1), simulation)
            // The refresh token of the sign-in is spent: the others must get its successor.
            #expect(await hooked.stored?.refreshToken == "secret-r1")
        }
    }

    @Test("A sign-in whose token is refreshed at once leaves the new token to the others")
    func signInThatIsRefreshed() async throws {
        for seed in UInt64(0)..<30 {
            try await Simulation(seed: seed).run { simulation in
                let fleet = TokenFleet(
                    simulation, life: .seconds(3600),
                    latency: .uniform(.microseconds(100)...(.milliseconds(15))))
                let (replica, other) = (try fleet.replica(), try fleet.replica())
                // Restored from a file, for instance: the access token is of no use any more.
                replica.tokens.replace(
                    with: BearerToken("secret-old", refreshToken: "secret-r0"))
                #expect(try await replica.call() == "in", "seed \(seed)")
                try await Self.pause(.seconds(1), simulation)
                #expect(try await other.call() == "in", "seed \(seed)")
                #expect(fleet.authority.refreshes == ["secret-r0"], "seed \(seed)")
            }
        }
    }

    @Test("A sign-in whose lock comes after a refresh of it does not replace the new token")
    func signInWithLateLock() async throws {
        try await Simulation(seed: 1).run { simulation in
            let hooked = Hooked(simulation)
            let replica = try hooked.replica(Self.first)
            replica.tokens.replace(with: BearerToken("secret-c", refreshToken: "secret-r0"))
            // The lock of the background, which stores the sign-in.
            hooked.store.beforeLock { try await Self.pause(.milliseconds(600), simulation) }
            #expect(try await replica.call() == "in")
            #expect(simulation.elapsed < .milliseconds(600))
            try await Self.pause(.seconds(1), simulation)
            #expect(await hooked.stored?.value == "secret-a1")
            #expect(!hooked.store.memory.isLocked("account"))
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
            await #expect(throws: ClientError.self) { try await waiting.call() }
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
