// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCore
@testable import TurnpikeTesting

@Suite("Simulation")
struct SimulationTests {
    @Test("Time jumps when nothing can run, and only then")
    func jumps() async throws {
        let simulation = Simulation(seed: 1)
        try await simulation.run { simulation in
            let context = Context(timeSource: simulation.clock, randomSource: simulation.random)
            async let long: Void = context.sleep(for: .seconds(600))
            try await context.sleep(for: .seconds(2))
            simulation.note("short")
            try await long
            simulation.note("long")
        }
        #expect(simulation.trace == "2.000000 short\n600.000000 long")
        #expect(simulation.elapsed == .seconds(600))
    }

    @Test(
        "The same seed gives the same run, another seed another", arguments: [1, 2, 3] as [UInt64])
    func repeats(seed: UInt64) async throws {
        let first = try await Self.flakyCalls(seed: seed, calls: 60)
        let second = try await Self.flakyCalls(seed: seed, calls: 60)
        #expect(first == second)
        #expect(first != (try await Self.flakyCalls(seed: seed + 100, calls: 60)))
    }

    @Test("Thousands of calls with retries repeat exactly")
    func many() async throws {
        let calls = Runs.size(1_000, all: 10_000)
        let first = try await Self.flakyCalls(seed: 11, calls: calls)
        #expect(first.split(separator: "\n").count >= calls)
        #expect(first == (try await Self.flakyCalls(seed: 11, calls: calls)))
    }

    @Test("A task that waits for something outside ends as an error that names the seed")
    func stalls() async {
        let simulation = Simulation(seed: 5)
        let error = await #expect(throws: SimulationError.self) {
            try await simulation.run { _ in
                let stream = AsyncStream<Int> { _ in }
                for await _ in stream {}
                try Task.checkCancellation()
            }
        }
        #expect(error?.seed == 5)
    }

    @Test("A run without a thread ends at once, and its body never begins")
    func threadless() async {
        // No system gives a stack of so many bytes.
        let simulation = Simulation(
            seed: 3, date: Date(), limit: .seconds(1), stackBytes: 1 << 56)
        let error = await #expect(throws: SimulationError.self) {
            try await simulation.run { _ in Issue.record("it ran") }
        }
        #expect(error?.seed == 3 && error?.message.contains("thread") == true)
    }

    @Test("A run that never ends is stopped at its limit")
    func endless() async {
        let simulation = Simulation(seed: 1, limit: .seconds(100))
        await #expect(throws: SimulationError.self) {
            try await simulation.run { simulation in
                let context = Context(timeSource: simulation.clock, randomSource: simulation.random)
                while true { try await context.sleep(for: .seconds(1)) }
            }
        }
        #expect(simulation.elapsed <= .seconds(102))
    }

    @Test("A deadline, a child task and a body stay inside")
    func inside() async throws {
        let value = try await Simulation(seed: 3).run { simulation in
            let transport = MockTransport { _ in
                .stream([Data("a".utf8), Data("b".utf8)], every: .seconds(20))
            }
            let client = Client(
                transport: transport, stack: .standard, timeSource: simulation.clock,
                randomSource: simulation.random)
            do {
                _ = try await client.get("https://a.example/").string()
                return "no deadline"
            } catch ClientError.Code.deadlineExceeded {
                return "after \(simulation.elapsed)"
            }
        }
        #expect(value == "after 30.0 seconds")
    }

    private static func flakyCalls(seed: UInt64, calls: Int) async throws -> String {
        let simulation = Simulation(seed: seed)
        try await simulation.run { simulation in
            let chance = Mutex(SeededGenerator(seed: seed))
            let transport = MockTransport(recordLimit: 0) { _ in
                let (fails, delay) = chance.withLock {
                    (Int.random(in: 0..<10, using: &$0) < 4, Int.random(in: 1...800, using: &$0))
                }
                return (fails ? MockResponse.status(503) : .ok(text: "fine"))
                    .delayed(by: .milliseconds(delay))
            }
            let client = Client(
                transport: transport, stack: .standard, timeSource: simulation.clock,
                randomSource: simulation.random)
            await withTaskGroup { group in
                for call in 0..<calls {
                    group.addTask {
                        do {
                            let text = try await client.get("https://a.example/").string()
                            simulation.note("\(call) \(text)")
                        } catch {
                            simulation.note("\(call) \(ClientError.label(of: error))")
                        }
                    }
                }
            }
        }
        return simulation.trace
    }
}
