// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("Cooldowns")
struct CooldownsTests {
    private static func busy(_ seconds: Int) -> MockResponse {
        .status(429, headers: ["Retry-After": "\(seconds)"])
    }

    @Test("A replica that is told to wait stops the others, and nothing is lost")
    func fleet() async throws {
        try await Simulation(seed: 1).run { simulation in
            let clock = simulation.clock
            let store = FaultyStore(clock, delay: .milliseconds(1))
            let once = Countdown(1)
            let fleet = Fleet(3, store, clock) { _ in
                once.takeOne() ? Self.busy(30) : .ok()
            } _: {
                SharedRateLimit(perSecond: 100, burst: 10, shared: $0)
            }
            #expect(try await fleet.clients[0].get(anywhere).response().status == 429)
            let context = Context(timeSource: clock)
            try await context.sleep(for: .milliseconds(5))
            await withTaskGroup { group in
                for client in fleet.clients {
                    group.addTask { _ = try? await client.get(anywhere).response() }
                }
            }
            #expect(simulation.elapsed >= .seconds(30) && simulation.elapsed < .seconds(31))
            #expect(fleet.arrivals.count == 4)
        }
    }

    @Test("A call whose deadline ends before the cool-down fails at once")
    func deadline() async throws {
        let clock = ManualClock()
        let cooldowns = Cooldowns()
        let transport = MockTransport([.any(.status(503, headers: ["Retry-After": "9"]), .ok())])
        let limit = RateLimit(perSecond: 100, burst: 10, cooldowns: cooldowns)
        let client = Client(transport, clock: clock, Deadline(.seconds(5)), limit)
        #expect(try await client.get(anywhere).response().status == 503)
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .deadlineExceeded && error?.retryAfter == .seconds(9))
        #expect(try await client.get("http://b.example/").response().status == 200)
        clock.advance(by: .seconds(9))
        #expect(try await client.get(anywhere).response().status == 200)
    }

    @Test("Without a queue a call during a cool-down is refused")
    func full() async throws {
        let clock = ManualClock()
        let transport = MockTransport { _ in Self.busy(9) }
        let client = Client(
            transport, clock: clock,
            RateLimit(perSecond: 100, burst: 10, queue: 0, cooldowns: Cooldowns()))
        _ = try await client.get(anywhere).response()
        #expect(await code(of: client.get(anywhere)) == .rateLimited)
    }

    @Test("A retry waits for the end of a cool-down of which another replica was told")
    func retry() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let here = SharedState(store, replicas: 2)
            let there = SharedState(store, replicas: 2)
            let context = Context(timeSource: simulation.clock)
            let transport = MockTransport([.any(.status(500), .ok())])
            let client = Client(
                transport, clock: simulation.clock, [.retry(cooldowns: here.cooldowns)])
            there.cooldowns.begin(
                .seconds(7),
                for: QuotaKey(origin: Origin(scheme: "http", host: "a.example", port: 80)),
                gate: "test", in: context)
            try await context.sleep(for: .milliseconds(5))
            #expect(try await client.get(anywhere).response().status == 200)
            #expect(simulation.elapsed >= .seconds(7) && simulation.elapsed < .seconds(8))
        }
    }

    @Test("A cool-down that is longer than a retry honours ends the retries")
    func longest() async throws {
        let clock = ManualClock()
        let cooldowns = Cooldowns(longest: .seconds(100))
        let transport = MockTransport([.any(.status(500), .ok())])
        let client = Client(
            transport, clock: clock,
            [.retry(maxRetryAfter: .seconds(50), cooldowns: cooldowns)])
        let key = QuotaKey(origin: Origin(scheme: "http", host: "a.example", port: 80))
        let context = Context(timeSource: clock)
        cooldowns.begin(.seconds(4000), for: key, gate: "test", in: context)
        #expect(cooldowns.end(of: key, at: clock.now) == clock.now.advanced(by: .seconds(100)))
        #expect(try await client.get(anywhere).response().status == 500)
        #expect(transport.sentCount == 1)
    }

    @Test("A store that is away leaves the cool-downs of the process")
    func away() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock)
            store.set(isAway: true)
            let transport = MockTransport([.any(Self.busy(3), .ok())])
            let client = Client(
                transport, clock: simulation.clock,
                SharedRateLimit(perSecond: 100, shared: SharedState(store, replicas: 1)))
            _ = try await client.get(anywhere).response()
            _ = try await client.get(anywhere).response()
            #expect(simulation.elapsed >= .seconds(3) && simulation.elapsed < .seconds(4))
        }
    }

    @Test("A replica that cannot reach the store does not learn of a cool-down; the others do")
    func cutOff() async throws {
        try await Simulation(seed: 1).run { simulation in
            let clock = simulation.clock
            let memory = MemorySharedStore(timeSource: clock)
            let cut = FaultySharedStore(
                memory, seed: 1, timeSource: clock,
                outages: [.init(after: .zero, for: .seconds(1000))])
            let once = Countdown(1)
            let transport = MockTransport { _ in once.takeOne() ? Self.busy(30) : .ok() }
            let stores: [any SharedStore] = [memory, memory, cut]
            let clients = stores.map { store in
                Client(
                    transport, clock: clock,
                    SharedRateLimit(
                        perSecond: 100, burst: 10, shared: SharedState(store, replicas: 3)))
            }
            let told = try await clients[0].get(anywhere).response()
            #expect(told.status == 429)
            #expect(try await clients[2].get(anywhere).response().status == 200)
            #expect(simulation.elapsed < .seconds(1))
            #expect(try await clients[1].get(anywhere).response().status == 200)
            #expect(simulation.elapsed >= .seconds(30))
        }
    }

    @Test("A clock of the store that jumps ahead ends a cool-down early, but not where it is known")
    func jump() async throws {
        try await Simulation(seed: 1).run { simulation in
            let clock = simulation.clock
            let store = MemorySharedStore(
                timeSource: JumpingClock(clock, (after: .seconds(2), by: .seconds(20))))
            let once = Countdown(1)
            let fleet = Fleet(2, store, clock) { _ in
                once.takeOne() ? Self.busy(30) : .ok()
            } _: {
                SharedRateLimit(perSecond: 100, burst: 10, shared: $0)
            }
            #expect(try await fleet.clients[0].get(anywhere).response().status == 429)
            try await Context(timeSource: clock).sleep(for: .seconds(3))
            #expect(try await fleet.clients[1].get(anywhere).response().status == 200)
            #expect(simulation.elapsed >= .seconds(10) && simulation.elapsed < .seconds(11))
            #expect(try await fleet.clients[0].get(anywhere).response().status == 200)
            #expect(simulation.elapsed >= .seconds(30) && simulation.elapsed < .seconds(31))
        }
    }

    @Test("A validator inside of the limit hides no cool-down", arguments: [true, false])
    func validator(isInside: Bool) async throws {
        let clock = ManualClock()
        let limit = RateLimit(perSecond: 100, burst: 10, queue: 0, cooldowns: Cooldowns())
        let gates: [any Gate] = isInside ? [limit, Validate()] : [Validate(), limit]
        let client = Client(
            MockTransport([.any(Self.busy(9), .ok())]), clock: clock, Stack(gates))
        #expect(await code(of: client.get(anywhere)) == .validation)
        #expect(await code(of: client.get(anywhere)) == .rateLimited)
        clock.advance(by: .seconds(9))
        #expect(await code(of: client.get(anywhere)) == nil)
    }
}
