// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeSharedState
import TurnpikeTraffic
import TurnpikeValkey

/// A shared limit of 50,000 permits a second, compared with the same limit in one process.
///
/// The replica takes permits in leases.
///
/// Two loads are measured in interleaved rounds. `paced` has one caller at four fifths of the
/// quota. No call waits for a permit, so the time is the cost of the gate. `full` has 64 callers
/// that want more than the quota. It shows how much of the quota is used, and its CPU time.
enum FleetLimit {
    private static let perSecond = 50_000.0
    private static let burst = 5000
    private static let replicas = 4
    private static let rounds = 7
    private static let seconds = 1.0
    private static let callers = 64

    private struct Case {
        let name: String
        let client: Client
        var paced: [Sample] = []
        var full: [Sample] = []

        init(_ name: String, _ shared: SharedState?) {
            self.name = name
            let limit: any RateLimiting =
                if let shared {
                    SharedRateLimit(perSecond: perSecond, burst: burst, shared: shared)
                } else {
                    RateLimit(perSecond: perSecond, burst: burst)
                }
            client = Client(
                transport: MockTransport(recordLimit: 0) { _ in .status(204) },
                stack: Stack([limit]))
        }
    }

    struct Sample {
        var calls = 0
        var busy = 0.0
        var cpu = 0.0
        var time = 0.0

        var microsPerCall: Double { busy / Double(max(calls, 1)) * 1e6 }
        var cpuPerCall: Double { cpu / Double(max(calls, 1)) * 1e6 }
    }

    static func run(_ report: Report, _ server: RedisProcess?) async throws {
        var cases = [
            Case("local", nil),
            Case("memory", SharedState(MemorySharedStore(), replicas: replicas)),
        ]
        if let server {
            cases.append(Case("server", SharedState(server.client, replicas: replicas)))
        }
        for round in 0...rounds {
            for number in cases.indices {
                // Each round begins with another case.
                let index = (number + round) % cases.count
                let paced = try await paced(cases[index].client)
                let full = try await full(cases[index].client)
                // The first round is a warm-up.
                if round == 0 { continue }
                cases[index].paced.append(paced)
                cases[index].full.append(full)
            }
        }
        for (number, one) in cases.enumerated() {
            let time = zip(one.paced, cases[0].paced).map { $0.microsPerCall / $1.microsPerCall }
            let cpu = zip(one.paced, cases[0].paced).map { $0.cpuPerCall / $1.cpuPerCall }
            report.line(
                [("bench", "fleet"), ("case", "limit-\(one.name)"), ("load", "paced")],
                "timeRatio", median(time), .atMost(number == 0 ? 1 : 1.15),
                [
                    ("µsPerCall", .number(median(one.paced.map(\.microsPerCall)))),
                    ("cpuRatio", .number(median(cpu))),
                    ("cpuµsPerCall", .number(median(one.paced.map(\.cpuPerCall)))),
                ])
            let used = one.full.map { Double($0.calls) / ($0.time * perSecond) }
            report.line(
                [("bench", "fleet"), ("case", "limit-\(one.name)"), ("load", "full")],
                "quotaUsed", median(used), .atLeast(0.97),
                [("cpuµsPerCall", .number(median(one.full.map(\.cpuPerCall))))])
            await one.client.shutdown()
        }
    }

    /// One caller, at a pace at which no call waits.
    private static func paced(_ client: Client) async throws -> Sample {
        var sample = Sample()
        let (begin, cpu) = (ContinuousClock.now, Usage.cpuSeconds)
        while true {
            let now = ContinuousClock.now
            sample.time = (now - begin) / .seconds(1)
            if sample.time >= seconds { break }
            let due = Int(sample.time * perSecond * 0.8) - sample.calls
            for _ in 0..<max(due, 0) { _ = try await client.get(url).response() }
            sample.busy += (ContinuousClock.now - now) / .seconds(1)
            sample.calls += max(due, 0)
            try await Task.sleep(for: .milliseconds(1))
        }
        sample.cpu = Usage.cpuSeconds - cpu
        return sample
    }

    /// Many callers, as fast as the limit permits.
    private static func full(_ client: Client) async throws -> Sample {
        var sample = Sample()
        let (begin, cpu) = (ContinuousClock.now, Usage.cpuSeconds)
        let end = begin + .seconds(seconds)
        sample.calls = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<callers {
                group.addTask {
                    var calls = 0
                    while ContinuousClock.now < end {
                        _ = try await client.get(url).response()
                        calls += 1
                    }
                    return calls
                }
            }
            return try await group.reduce(0, +)
        }
        sample.time = (ContinuousClock.now - begin) / .seconds(1)
        sample.cpu = Usage.cpuSeconds - cpu
        return sample
    }

    static let url: Target = "http://quota.example/"
}
