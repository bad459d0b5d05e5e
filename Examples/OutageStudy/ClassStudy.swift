// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeTesting
import TurnpikeTraffic

/// A service whose callers want three times its capacity: critical calls 0.6 times, and sheddable
/// ones 2.4 times.
///
/// Each call has a second.
struct ClassStudy: Sendable {
    /// A limit before the service, and whether calls tell their class.
    struct Line: Sendable {
        let name: String
        let tellsClass: Bool
        let gate: @Sendable () -> any Gate
    }

    /// The service time of 20 workers, so that they serve 200 calls in a second.
    private static let service = 0.1
    private static let workers = 20
    private static let capacity = Double(workers) / service

    /// How many seconds calls begin.
    var seconds = 60
    /// The seed of all random values.
    var seed: UInt64 = 1

    /// The lines of the table.
    static var lines: [Line] {
        func concurrency(_ queue: Int) -> @Sendable () -> any Gate {
            { ConcurrencyLimit(perOrigin: workers, queue: queue) }
        }
        let rate = { @Sendable () -> any Gate in RateLimit(perSecond: capacity, queue: 50) }
        return [
            ("ConcurrencyLimit, 50 wait", concurrency(50)),
            ("ConcurrencyLimit, 1000 wait", concurrency(1000)), ("RateLimit, 50 wait", rate),
        ].flatMap { name, gate in
            [
                Line(name: name + ", one class", tellsClass: false, gate: gate),
                Line(name: name + ", by class", tellsClass: true, gate: gate),
            ]
        }
    }

    /// What became of the calls; all are shares.
    struct Outcome: Sendable {
        /// The critical calls that succeed.
        var upper: Double
        /// The sheddable calls that succeed, of the capacity that the critical ones leave.
        var lower: Double
        /// The sheddable calls that are sent while a critical one waits, of the capacity.
        var aging: Double
    }

    /// Runs the calls through a line.
    func run(_ line: Line) async throws -> Outcome {
        let service = WorkerService(seed: seed, mean: Self.service)
        let seconds = seconds
        let seed = seed
        try await Simulation(seed: seed).run { simulation in
            let client = Client(
                transport: service, stack: [.deadline(.seconds(1)), line.gate()],
                timeSource: simulation.clock, randomSource: simulation.random)
            await withTaskGroup(of: Void.self) { group in
                for (criticality, share) in [(Criticality.critical, 0.6), (.sheddable, 2.4)] {
                    group.addTask {
                        await Self.begin(
                            criticality, share * Self.capacity, line.tellsClass, seconds, seed,
                            client, service, simulation.clock)
                    }
                }
            }
        }
        let counts = service.counts
        let (begun, succeeded) = (counts.begun[.critical] ?? 0, counts.succeeded[.critical] ?? 0)
        let capacity = Self.capacity * Double(seconds)
        return Outcome(
            upper: Double(succeeded) / Double(max(begun, 1)),
            lower: Double(counts.succeeded[.sheddable] ?? 0) / (capacity - Double(succeeded)),
            aging: Double(counts.aged) / capacity)
    }

    // Begins calls at random times, whatever becomes of them.
    private static func begin(
        _ criticality: Criticality, _ perSecond: Double, _ tellsClass: Bool, _ seconds: Int,
        _ seed: UInt64, _ client: Client, _ service: WorkerService, _ clock: SimulationClock
    ) async {
        var chance = SeededGenerator(seed: seed &* 31 &+ (criticality == .critical ? 1 : 2))
        let context = Context(timeSource: clock)
        var number = 0
        await withDiscardingTaskGroup { group in
            while clock.now.nanoseconds < Int64(seconds) * 1_000_000_000 {
                let unit = Double.random(in: 0..<1, using: &chance)
                // Nothing cancels it.
                try? await context.sleep(for: .seconds(-log(1 - unit) / perSecond))
                number += 1
                let path = "/\(criticality)/\(number)"
                service.begin(path, criticality)
                group.addTask {
                    var call = client.get(Target("https://service.example" + path))
                    if tellsClass { call = call.criticality(criticality) }
                    let response = try? await call.response()
                    service.end(path, criticality, isSuccess: response != nil)
                }
            }
        }
    }
}

/// Answers each request after a random time, and counts calls.
private final class WorkerService: Transport {
    struct Counts {
        var begun: [Criticality: Int] = [:]
        var succeeded: [Criticality: Int] = [:]
        /// Critical calls that wait in line.
        var waiting: Set<String> = []
        /// Sheddable requests that were sent while a critical call waited.
        var aged = 0
        var generator: SeededGenerator
    }

    let capabilities = TransportCapabilities(rawValue: .max)
    private let state: Mutex<Counts>
    private let mean: Double

    init(seed: UInt64, mean: Double) {
        state = Mutex(Counts(generator: SeededGenerator(seed: seed)))
        self.mean = mean
    }

    var counts: Counts { state.withLock { $0 } }

    func begin(_ path: String, _ criticality: Criticality) {
        state.withLock { counts in
            counts.begun[criticality, default: 0] += 1
            if criticality == .critical { counts.waiting.insert(path) }
        }
    }

    func end(_ path: String, _ criticality: Criticality, isSuccess: Bool) {
        state.withLock { counts in
            if isSuccess { counts.succeeded[criticality, default: 0] += 1 }
            counts.waiting.remove(path)
        }
    }

    func send(_ request: Request, context: Context) async throws -> Response {
        let path = request.url.path
        let time = state.withLock { counts in
            counts.waiting.remove(path)
            if path.hasPrefix("/sheddable"), !counts.waiting.isEmpty { counts.aged += 1 }
            return -log(1 - Double.random(in: 0..<1, using: &counts.generator)) * mean
        }
        try await context.sleep(for: .seconds(time))
        return Response(to: request, status: .ok)
    }

    func shutdown() async {}
}
