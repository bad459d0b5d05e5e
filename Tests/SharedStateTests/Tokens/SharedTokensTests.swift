// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("A token that replicas share")
struct SharedTokensTests {
    private static let seeds: Range<UInt64> = 0..<max(Law.runs.upperBound / 75, 1)

    // Calls of one replica at random times, until the end; a call that fails throws.
    private static func work(
        _ replica: TokenFleet.Replica, _ simulation: Simulation, until end: Duration, seed: UInt64
    ) async throws {
        var dice = Dice(seed: seed)
        while simulation.elapsed < end {
            guard try await replica.call() == "in" else { throw WaitExpired(after: end, for: "in") }
            try await pause(.milliseconds(dice.roll(1...9000)), simulation)
        }
    }

    private static func pause(_ duration: Duration, _ simulation: Simulation) async throws {
        let moment = OneShot<Void>()
        _ = simulation.clock.schedule(after: duration) { moment.settle(.success(())) }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }

    @Test("Twelve replicas refresh once per token, and none sends a spent refresh token")
    func oncePerToken() async throws {
        for seed in Self.seeds {
            try await Simulation(seed: seed).run { simulation in
                let fleet = TokenFleet(
                    simulation, latency: .uniform(.microseconds(100)...(.milliseconds(15))))
                try await withThrowingTaskGroup { group in
                    for index in 0..<12 {
                        group.addTask {
                            // The second half starts when the configured token is spent.
                            if index >= 6 { try await Self.pause(.seconds(20 * index), simulation) }
                            let replica = try fleet.replica()
                            try await Self.work(
                                replica, simulation, until: .seconds(600),
                                seed: seed << 8 | UInt64(index))
                        }
                    }
                    try await group.waitForAll()
                }
                let refreshes = fleet.authority.refreshes
                #expect(!fleet.authority.isSignedOut, "seed \(seed): \(refreshes)")
                #expect(Set(refreshes).count == refreshes.count, "seed \(seed)")
                // Each token lasts for a minute, and is replaced half a minute before.
                #expect((10...22).contains(refreshes.count), "seed \(seed): \(refreshes.count)")
            }
        }
    }

    @Test("A token that is refused everywhere at once is refreshed once")
    func refused() async throws {
        for seed in Self.seeds {
            try await Simulation(seed: seed).run { simulation in
                let fleet = TokenFleet(simulation, life: .seconds(3600))
                let replicas = try (0..<12).map { _ in try fleet.replica() }
                for round in 1...3 {
                    try await withThrowingTaskGroup { group in
                        for replica in replicas + replicas {
                            group.addTask { _ = try await replica.call() }
                        }
                        try await group.waitForAll()
                    }
                    #expect(fleet.authority.refreshes.count == round, "seed \(seed)")
                    fleet.authority.revoke()
                }
                #expect(!fleet.authority.isSignedOut)
            }
        }
    }

    @Test("If the replica with the lock dies unsent, another one refreshes when the lock ends")
    func deadBeforeSending() async throws {
        try await Simulation(seed: 1).run { simulation in
            let fleet = TokenFleet(simulation)
            _ = await fleet.memory.lock("account", for: .seconds(12))
            let replica = try fleet.replica()
            #expect(try await replica.call() == "in")
            #expect(simulation.elapsed >= .seconds(12) && simulation.elapsed < .seconds(15))
        }
    }

    @Test("If the replica with the lock dies in a refresh, no other one refreshes during the lock")
    func deadInRefresh() async throws {
        for seed in Self.seeds {
            try await Simulation(seed: seed).run { simulation in
                let fleet = TokenFleet(simulation)
                let dying = try fleet.replica(dyingIn: 1)
                async let lost: Void = { _ = try? await dying.call() }()
                try await Self.pause(.seconds(1), simulation)
                let other = try fleet.replica()
                await expectError(.auth) { try await other.call() }
                #expect(fleet.authority.refreshes == ["secret-r0"])
                // The server has spent the refresh token for an answer that nobody has.
                try await Self.pause(.seconds(150), simulation)
                _ = await lost
            }
        }
    }

    @Test("A replica whose lock has ended uses the token of the one that came later")
    func lostLock() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = MemorySharedStore(timeSource: simulation.clock)
            let provider = CountingProvider(spendsRefreshToken: false) { number, exchange in
                try await exchange.context.sleep(for: .seconds(number == 1 ? 10 : 1))
            }
            let transport = guarded { $0 == "t2" }
            let replicas = try (0..<2).map { _ in
                let shared = try SharedTokens(
                    SharedState(store, replicas: 2), key: "a", storesSecrets: true)
                let tokens = BearerTokens(
                    provider: provider,
                    policy: RefreshPolicy(maxRefreshes: 100, timeLimit: .seconds(2)),
                    shared: shared)
                return TokenFleet.Replica(
                    client: Client(transport, clock: simulation.clock, [.bearer(tokens)]),
                    tokens: tokens)
            }
            // It has the lock for seven seconds, and the answer after ten.
            await expectError(.auth) { try await replicas[0].call() }
            while (try? await replicas[1].call()) == nil {
                guard simulation.elapsed < .seconds(20) else { break }
            }
            #expect(simulation.elapsed > .seconds(7) && simulation.elapsed < .seconds(10))
            try await Self.pause(.seconds(5), simulation)
            #expect(replicas.map(\.tokens.current?.value) == ["t2", "t2"])
            #expect(try await replicas[0].call() == "in")
            #expect(provider.count == 2)
            let stored = try #require(await store.token("a"))
            #expect(SharedToken(stored)?.token?.value == "t2" && !store.isLocked("a"))
        }
    }

    @Test("A new token that is installed reaches the other replicas")
    func replaced() async throws {
        try await Simulation(seed: 1).run { simulation in
            let fleet = TokenFleet(simulation, life: .seconds(3600))
            let (first, second) = (try fleet.replica(), try fleet.replica())
            #expect(try await first.call() == "in")
            #expect(try await second.call() == "in")
            let token = BearerToken("secret-b", refreshToken: "secret-rb")
            first.tokens.replace(with: token)
            try await Self.pause(.seconds(1), simulation)
            let stored = try #require(await fleet.memory.token("account"))
            #expect(SharedToken(stored)?.token == token)
            // A replica that starts takes it, and refreshes with it when it is refused.
            let late = try fleet.replica()
            _ = try? await late.call()
            #expect(fleet.authority.refreshes == ["secret-r0", "secret-rb"])
        }
    }

    @Test("A sign-out of one replica is not undone by another one")
    func signedOut() async throws {
        try await Simulation(seed: 1).run { simulation in
            let fleet = TokenFleet(simulation, life: .seconds(60))
            let (first, second) = (try fleet.replica(), try fleet.replica())
            #expect(try await first.call() == "in")
            #expect(try await second.call() == "in")
            first.tokens.replace(with: nil)
            // The token of the second replica has expired by then.
            try await Self.pause(.seconds(120), simulation)
            await expectError(.auth) { try await second.call() }
            #expect(fleet.authority.refreshes == ["secret-r0"])
        }
    }

    @Test("While the store is away, a provider that spends refresh tokens waits for it")
    func awayAndWaiting() async throws {
        for seed in Self.seeds {
            try await Simulation(seed: seed).run { simulation in
                let fleet = TokenFleet(
                    simulation,
                    outages: [.init(after: .zero, for: .seconds(10), .silence)])
                let replicas = try (0..<12).map { _ in try fleet.replica() }
                try await withThrowingTaskGroup { group in
                    for replica in replicas {
                        group.addTask {
                            let answer = try await replica.call()
                            #expect(answer == "in")
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(simulation.elapsed >= .seconds(10))
                #expect(fleet.authority.refreshes == ["secret-r0"], "seed \(seed)")
            }
        }
    }

    @Test("A replica that refreshes by itself stores the token when the store is back")
    func awayAndAlone() async throws {
        try await Simulation(seed: 1).run { simulation in
            let fleet = TokenFleet(
                simulation, life: .seconds(3600),
                outages: [.init(after: .zero, for: .seconds(10))])
            let first = try fleet.replica(onOutage: .refresh)
            #expect(try await first.call() == "in")
            #expect(simulation.elapsed < .seconds(3))
            try await Self.pause(.seconds(25), simulation)
            let second = try fleet.replica(onOutage: .refresh)
            #expect(try await second.call() == "in")
            #expect(fleet.authority.refreshes == ["secret-r0"])
        }
    }

    @Test("While a token is valid, an outage of the store holds no call up")
    func awayWithToken() async throws {
        try await Simulation(seed: 1).run { simulation in
            let fleet = TokenFleet(simulation, life: .seconds(3600))
            let replica = try fleet.replica()
            _ = try await replica.call()
            fleet.store.setOutage(.silence)
            let begin = simulation.elapsed
            for _ in 0..<100 { _ = try await replica.call() }
            #expect(simulation.elapsed == begin)
        }
    }

    @Test("A lossy and slow store delays a refresh, and never burns the refresh token")
    func lossy() async throws {
        for seed in Self.seeds {
            try await Simulation(seed: seed).run { simulation in
                let fleet = TokenFleet(
                    simulation,
                    latency: .logNormal(median: .milliseconds(5), p99: .milliseconds(400)),
                    losses: 0.02)
                await withTaskGroup { group in
                    for index in 0..<12 {
                        group.addTask {
                            guard let replica = try? fleet.replica() else { return }
                            var dice = Dice(seed: seed << 8 | UInt64(index))
                            while simulation.elapsed < .seconds(900) {
                                // A lock whose answer is lost holds all up until it ends.
                                _ = try? await replica.call()
                                try? await Self.pause(
                                    .milliseconds(dice.roll(1...9000)), simulation)
                            }
                        }
                    }
                }
                let refreshes = fleet.authority.refreshes
                #expect(!fleet.authority.isSignedOut, "seed \(seed): \(refreshes)")
                #expect(refreshes.count > 4, "seed \(seed): \(refreshes.count)")
            }
        }
    }

    @Test("Wrong clocks of replicas cost no refresh")
    func clocks() async throws {
        try await Simulation(seed: 1).run { simulation in
            let fleet = TokenFleet(simulation, life: .seconds(600))
            let right = try fleet.replica()
            _ = try await right.call()
            let token = SharedToken(
                right.tokens.current, scope: [],
                fence: await fleet.memory.token("account")?.fence ?? 0)
            // As if the replica that has stored it were an hour behind.
            let early = BearerToken(
                token.token?.value ?? "", expires: simulation.clock.date.addingTimeInterval(-3000),
                refreshToken: token.token?.refreshToken)
            let behind = SharedToken(early, scope: [], fence: token.fence)
            _ = await fleet.memory.store(behind.stored, "account", for: nil)
            let other = try fleet.replica()
            for _ in 0..<20 { #expect(try await other.call() == "in") }
            #expect(fleet.authority.refreshes.count == 1)
        }
    }
}
