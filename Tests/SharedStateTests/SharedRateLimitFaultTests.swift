// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("RateLimit while its store is away")
struct SharedRateLimitFaultTests {
    private static let rule = QuotaRule(200, per: .seconds(1), burst: 20)

    @Test(
        "A store that is away or slow fails no call, and each replica keeps to its share",
        arguments: [true, false])
    func outage(isSlow: Bool) async throws {
        try await Simulation(seed: 5).run { simulation in
            let clock = simulation.clock
            let store = FaultyStore(clock, delay: .milliseconds(1))
            let fleet = Fleet(4, store, clock) { SharedRateLimit([Self.rule], shared: $0) }
            let failures = Failures()
            _ = clock.schedule(after: .seconds(2)) {
                store.set(delay: isSlow ? .milliseconds(200) : .zero, isAway: !isSlow)
            }
            _ = clock.schedule(after: .seconds(5)) { store.set(delay: .milliseconds(1)) }
            await SharedRateLimitTests.storm(
                fleet, workers: 8, for: .seconds(9), simulation, failures: failures)
            #expect(failures.all.isEmpty, "\(failures.all.prefix(3))")
            let most = fleet.arrivals.most(in: .seconds(1))
            #expect(most <= 231, "in one second: \(most)")
            let during = fleet.arrivals.count(from: .milliseconds(2500), to: .seconds(5))
            #expect((450...510).contains(during), "during the outage: \(during)")
            let after = fleet.arrivals.count(from: .seconds(7), to: .seconds(9))
            #expect(after >= 388, "after it: \(after)")
            #expect(
                fleet.shared.allSatisfy { $0.limiter.keys { $0.isDriven && $0.isLocal }.isEmpty })
            #expect(store.takes < 4000)
        }
    }

    @Test("The first call waits for the time limit, those after it do not")
    func firstCall() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .seconds(2))
            let sink = MemoryLogSink()
            let limit = SharedRateLimit(
                perSecond: 1e6, burst: 1000, shared: SharedState(store, replicas: 2))
            let client = simulation.client([.log(to: sink), limit])
            _ = try await client.get(anywhere).response()
            #expect(simulation.elapsed >= .milliseconds(20))
            #expect(simulation.elapsed < .milliseconds(21))
            for _ in 0..<100 { _ = try await client.get(anywhere).response() }
            #expect(simulation.elapsed < .milliseconds(21))
            let told = sink.lines.filter { $0.contains("decide locally") }
            #expect(told.count == 1, "\(told)")
        }
    }

    @Test("An answer that comes too late gives its permits back")
    func late() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(200))
            let rule = QuotaRule(1, per: .seconds(1000), burst: 100)
            let limit = SharedRateLimit([rule], shared: SharedState(store, replicas: 4))
            let client = simulation.client([limit])
            #expect(await code(of: client.get(anywhere).deadline(.seconds(1))) != nil)
            let context = Context(timeSource: simulation.clock)
            try await context.sleep(for: .seconds(5))
            #expect(store.takes > 0 && store.returned == store.takes)
            #expect(store.left([rule]) > 99.9, "\(store.left([rule]))")
        }
    }

    @Test("The log has a line each ten seconds of an outage, and one at its end")
    func news() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let sink = MemoryLogSink()
            let limit = SharedRateLimit(
                perSecond: 1000, burst: 10, shared: SharedState(store, replicas: 1))
            let client = simulation.client([.log(to: sink), limit])
            let context = Context(timeSource: simulation.clock)
            for second in 0..<30 {
                store.set(delay: .milliseconds(1), isAway: (2..<24).contains(second))
                for _ in 0..<20 {
                    try await context.sleep(for: .milliseconds(50))
                    _ = try await client.get(anywhere).response()
                }
            }
            #expect(sink.lines.count { $0.contains("decide locally") } == 3)
            #expect(sink.lines.count { $0.contains("answers again") } == 1)
        }
    }

    @Test("An outage soon after a short fault is told, and so is its end")
    func blip() async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(1))
            let sink = MemoryLogSink()
            let limit = SharedRateLimit(
                perSecond: 1000, burst: 10, shared: SharedState(store, replicas: 1))
            let client = simulation.client([.log(to: sink), limit])
            let context = Context(timeSource: simulation.clock)
            for tenth in 0..<70 {
                let isAway = (5..<10).contains(tenth) || (20..<50).contains(tenth)
                store.set(delay: .milliseconds(1), isAway: isAway)
                for _ in 0..<2 {
                    try await context.sleep(for: .milliseconds(50))
                    _ = try await client.get(anywhere).response()
                }
            }
            let told = sink.lines.compactMap { line in
                ["decide locally", "answers again"].first { line.contains($0) }
            }
            let once = ["decide locally", "answers again"]
            #expect(told == once + once, "\(told)")
        }
    }

    @Test("A call that is cancelled while the store is asked does not take the answer from others")
    func cancelled() async throws {
        try await Simulation(seed: 2).run { simulation in
            let store = FaultyStore(simulation.clock, delay: .milliseconds(10))
            let limit = SharedRateLimit(
                perSecond: 1, burst: 1, shared: SharedState(store, replicas: 1))
            let client = simulation.client([limit])
            let context = Context(timeSource: simulation.clock)
            let codes = await withTaskGroup { group in
                group.addTask { await code(of: client.get(anywhere).deadline(.milliseconds(5))) }
                try? await context.sleep(for: .milliseconds(1))
                group.addTask { await code(of: client.get(anywhere)) }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.count { $0 == nil } == 1)
            #expect(simulation.elapsed < .milliseconds(15), "the second call has the permit")
        }
    }

    @Test("The circuit lets one operation try at a time, and each pause is longer")
    func circuit() {
        var circuit = StoreCircuit()
        var now = MonotonicInstant(nanoseconds: 0)
        func admits() -> Bool { circuit.admit(at: now) }
        for _ in 0..<3 {
            #expect(admits())
            circuit.record(false, at: now)
        }
        for pause in [100, 200, 250, 250] {
            #expect(!admits())
            #expect(
                circuit.nextAdmission(at: now) == now.advanced(by: .milliseconds(pause)))
            now = now.advanced(by: .milliseconds(pause))
            #expect(admits())
            #expect(!admits())
            circuit.record(false, at: now)
        }
        now = now.advanced(by: .seconds(1))
        #expect(admits())
        circuit.abandon(at: now)
        #expect(admits(), "a try that was cancelled says nothing")
        let hasClosed = circuit.record(true, at: now)
        #expect(hasClosed)
        #expect(circuit.isClosed && circuit.nextAdmission(at: now) == nil)
    }

    @Test("A circuit asks for the time only if it matters")
    func circuitTime() {
        var circuit = StoreCircuit()
        var readings = 0
        func now() -> MonotonicInstant {
            readings += 1
            return MonotonicInstant(nanoseconds: 0)
        }
        func admits() -> Bool { circuit.admit(at: now()) }
        for answers in [true, false, false] {
            #expect(admits())
            circuit.record(answers, at: now())
        }
        #expect(readings == 0)
        circuit.record(false, at: now())
        #expect(!admits())
        #expect(readings == 2)
    }

    @Test("Leases need a number of replicas that two heartbeats have confirmed")
    func replicas() {
        var count = ReplicaCount()
        let start = MonotonicInstant(nanoseconds: 0)
        func begins(at now: MonotonicInstant) -> Bool { count.begin(at: now) }
        #expect(begins(at: start))
        #expect(!begins(at: start))
        count.end(1)
        #expect(count.known == 1 && count.confirmed == nil)
        #expect(!begins(at: start.advanced(by: .milliseconds(199))))
        #expect(begins(at: start.advanced(by: .milliseconds(200))))
        count.end(12)
        #expect(count.known == 12 && count.confirmed == 12)
        // The number has grown, so it may grow further.
        #expect(begins(at: start.advanced(by: .milliseconds(400))))
        count.end(12)
        #expect(!begins(at: start.advanced(by: .milliseconds(1399))))
        count.end(3)
        #expect(count.known == 12, "after an outage those that come back first count themselves")
        count.end(3)
        #expect(count.known == 3)
        count.end(nil)
        #expect(count.known == 3)
    }
}
