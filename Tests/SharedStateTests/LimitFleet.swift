// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import TurnpikeSupport
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

/// Many replicas that draw on one quota, each with more calls than its share of it.
struct LimitFleet: Sendable {
    var replicas = 200
    /// How many calls of a replica are under way at once.
    var callers = 3
    var quota = 1000.0
    var burst = 100
    var seconds = 5
    var latency = MockLatency.logNormal(median: .milliseconds(1), p99: .milliseconds(8))
    var losses = 0.0
    var outages: [FaultySharedStore.Outage] = []
    /// How many replicas cannot reach the store any more from a moment on.
    var cutOff = 0
    var cutAfter = Duration.seconds(2)
    /// When the clock of the store jumps ahead, and how far.
    var jump: (after: Duration, by: Duration)?

    /// What arrived at the server.
    struct Outcome: Sendable {
        /// When, in seconds, in order.
        var arrivals: [Double] = []
        /// How many requests each replica sent after the start.
        var shares: [Int] = []
        var failures: [String] = []

        /// The most arrivals in any second that ends in a range of time.
        func most(in range: Range<Double> = 0..<1e9) -> Int {
            var (first, most) = (0, 0)
            for (index, arrival) in arrivals.enumerated() {
                while arrivals[first] <= arrival - 1 { first += 1 }
                if range.contains(arrival) { most = max(most, index - first + 1) }
            }
            return most
        }

        /// How many arrived in each quarter of a second.
        var timeline: [Int] {
            arrivals.reduce(into: []) { counts, arrival in
                while counts.count <= Int(arrival * 4) { counts.append(0) }
                counts[Int(arrival * 4)] += 1
            }
        }

        /// How many arrived per second, in a range of time.
        func rate(_ range: Range<Double>) -> Double {
            let count = arrivals.count { range.contains($0) }
            return Double(count) / (range.upperBound - range.lowerBound)
        }
    }

    private final class Server: Sendable {
        let outcome: Mutex<Outcome>

        init(replicas: Int) {
            outcome = Mutex(Outcome(shares: Array(repeating: 0, count: replicas)))
        }

        func receive(from replica: Int, at now: Double) {
            outcome.withLock { outcome in
                outcome.arrivals.append(now)
                if now >= 1 { outcome.shares[replica] += 1 }
            }
        }

        func fail(_ error: any Error) { outcome.withLock { $0.failures.append("\(error)") } }
    }

    func run(seed: UInt64) async throws -> Outcome {
        let fleet = self
        return try await Simulation(seed: seed).run { simulation in
            let clock = simulation.clock
            let memory = MemorySharedStore(timeSource: JumpingClock(clock, fleet.jump))
            func store(_ outages: [FaultySharedStore.Outage]) -> FaultySharedStore {
                FaultySharedStore(
                    memory, seed: seed, timeSource: clock, latency: fleet.latency,
                    losses: fleet.losses, outages: outages)
            }
            let whole = store(fleet.outages)
            let cut = store(fleet.outages + [.init(after: fleet.cutAfter, for: .seconds(1000))])
            let server = Server(replicas: fleet.replicas)
            await withDiscardingTaskGroup { group in
                for replica in 0..<fleet.replicas {
                    let transport = MockTransport(recordLimit: 0) { _ in
                        server.receive(from: replica, at: Double(clock.now.nanoseconds) / 1e9)
                        return .ok().delayed(by: .milliseconds(2))
                    }
                    let shared = SharedState(
                        replica < fleet.cutOff ? cut : whole, replica: "\(replica)")
                    let limit = SharedRateLimit(
                        perSecond: fleet.quota, burst: fleet.burst, shared: shared)
                    let client = Client(transport, clock: clock, seed: seed, [limit])
                    for _ in 0..<fleet.callers {
                        group.addTask {
                            while simulation.elapsed < .seconds(fleet.seconds) {
                                do { _ = try await client.get(anywhere).response() } catch {
                                    server.fail(error)
                                }
                            }
                        }
                    }
                }
            }
            var outcome = server.outcome.withLock { $0 }
            outcome.arrivals.removeAll { $0 >= Double(fleet.seconds) }
            return outcome
        }
    }
}

/// The clock of a store that jumps ahead once.
struct JumpingClock: TimeSource {
    let base: any TimeSource
    let jump: (after: Duration, by: Duration)?
    private let start: MonotonicInstant

    init(_ base: any TimeSource, _ jump: (after: Duration, by: Duration)?) {
        self.base = base
        self.jump = jump
        start = base.now
    }

    private var ahead: Duration {
        guard let jump, start.duration(to: base.now) >= jump.after else { return .zero }
        return jump.by
    }

    var now: MonotonicInstant { base.now.advanced(by: ahead) }
    var date: Date { base.date.addingTimeInterval(ahead / .seconds(1)) }

    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken { base.schedule(after: delay, handler) }
}
