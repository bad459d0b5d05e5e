// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("A limit of two hundred replicas")
struct LimitFleetTests {
    // One run has some ten thousand calls.
    private static let seeds: Range<UInt64> = 0..<max(Law.runs.upperBound / 600, 1)

    @Test("All well: the quota is used, never broken, and shared fairly", arguments: seeds)
    func well(_ seed: UInt64) async throws {
        var fleet = LimitFleet()
        // Permits come in portions of two, so each replica must get many of them.
        fleet.seconds = 10
        let outcome = try await fleet.run(seed: seed)
        #expect(outcome.failures.isEmpty)
        #expect(Double(outcome.most()) <= fleet.quota + Double(fleet.burst))
        #expect(outcome.rate(1..<10) >= 0.97 * fleet.quota, "\(outcome.timeline)")
        let mean = Double(outcome.shares.reduce(0, +)) / Double(fleet.replicas)
        for share in outcome.shares { #expect(abs(Double(share) - mean) <= mean * 0.2) }
    }

    @Test("A slow store: each replica has its share, and no call fails", arguments: seeds)
    func slow(_ seed: UInt64) async throws {
        try await check(.delay(.milliseconds(200)), seed)
    }

    @Test("No store: each replica has its share, and no call fails", arguments: seeds)
    func away(_ seed: UInt64) async throws {
        try await check(seed % 2 == 0 ? .silence : .refusal, seed)
    }

    @Test("A store that loses answers: the quota is kept, and most of it used", arguments: seeds)
    func lossy(_ seed: UInt64) async throws {
        var fleet = LimitFleet()
        fleet.losses = 0.01
        let outcome = try await fleet.run(seed: seed)
        #expect(outcome.failures.isEmpty)
        #expect(Double(outcome.most()) <= 1.05 * fleet.quota + Double(fleet.burst))
        #expect(outcome.rate(1..<5) >= 0.9 * fleet.quota, "\(outcome.timeline)")
    }

    @Test("Some replicas cannot reach the store: they have their shares besides", arguments: seeds)
    func cutOff(_ seed: UInt64) async throws {
        var fleet = LimitFleet()
        fleet.cutOff = 50
        fleet.seconds = 9
        let outcome = try await fleet.run(seed: seed)
        let all = fleet.quota * (1 + Double(fleet.cutOff) / Double(fleet.replicas))
        let burst = Double(fleet.burst)
        #expect(outcome.failures.isEmpty)
        #expect(Double(outcome.most(in: 0..<2)) <= fleet.quota + burst)
        #expect(Double(outcome.most(in: 2..<9)) <= all + burst, "\(outcome.timeline)")
        // The others use the whole quota, and those that are cut off a quarter of it besides.
        #expect(outcome.rate(4..<9) >= 0.95 * all, "\(outcome.timeline)")
    }

    @Test("The clock of the store jumps ahead: one more burst, and what was reserved once more")
    func jump() async throws {
        for (replicas, callers) in Runs.size([(12, 50)], all: [(200, 3), (12, 50)]) {
            for jump in Runs.size(
                [.seconds(3600)], all: [Duration.milliseconds(500), .seconds(3600)])
            {
                var fleet = LimitFleet()
                (fleet.replicas, fleet.callers) = (replicas, callers)
                fleet.jump = (.seconds(2), jump)
                fleet.seconds = 6
                let outcome = try await fleet.run(seed: 1)
                let (quota, burst) = (fleet.quota, Double(fleet.burst))
                #expect(outcome.failures.isEmpty)
                #expect(Double(outcome.most(in: 0..<2)) <= quota + burst)
                // Those of 75 ms, or three for each replica.
                let reserved = max(0.075 * quota, 3 * Double(replicas))
                let most = Double(outcome.most(in: 2..<3.5))
                #expect(most <= quota + 2 * burst + reserved, "\(most): \(outcome.timeline)")
                #expect(most > quota + burst / 2, "\(most): \(outcome.timeline)")
                #expect(Double(outcome.most(in: 3.5..<6)) <= quota + burst, "\(outcome.timeline)")
                #expect(outcome.rate(3.5..<6) >= 0.97 * quota, "\(outcome.timeline)")
            }
        }
    }

    private func check(_ kind: FaultySharedStore.Outage.Kind, _ seed: UInt64) async throws {
        var fleet = LimitFleet()
        // Longer than a replica counts without a heartbeat.
        let away = 2.0..<5.5
        fleet.seconds = 11
        fleet.outages = [.init(after: .seconds(2), for: .milliseconds(3500), kind)]
        let outcome = try await fleet.run(seed: seed)
        let (quota, burst) = (fleet.quota, Double(fleet.burst))
        let timeline = outcome.timeline
        func most(_ begin: Double, _ end: Double) -> Double {
            Double(outcome.most(in: begin..<end))
        }

        #expect(outcome.failures.isEmpty)
        #expect(most(0, 2) <= quota + burst)
        // What was reserved when the store went away is used besides the shares.
        #expect(most(2, away.upperBound) <= 1.25 * quota + burst, "\(timeline)")
        #expect(outcome.rate(3..<away.upperBound) >= 0.9 * quota, "\(timeline)")
        // The replicas come back one after another, within a second: meanwhile those that are back
        // use the whole quota, and the others their shares.
        #expect(most(away.upperBound, away.upperBound + 3) <= 2 * quota + burst, "\(timeline)")
        // Then all is as before.
        #expect(most(away.upperBound + 3, 11) <= quota + burst, "\(timeline)")
        #expect(outcome.rate(away.upperBound + 3..<11) >= 0.97 * quota, "\(timeline)")
    }
}
