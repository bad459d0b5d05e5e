// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore

@testable import fleet_study

@Suite("The study of a fleet")
struct FleetStudyTests {
    @Test("Local limits break the quota or waste it; a shared one does neither")
    func limits() async throws {
        let scenario = Scenario.small
        let results = try await Study(scenario).run()
        let used = results.map(\.used)
        #expect(used[0] > 1.5 && results[0].refusals > 500)
        #expect(used[1] < 0.85)
        #expect(used[2] > 0.97 && used[2] < 1.03 && results[2].refusals == 0)
        #expect(Double(results[2].most) <= scenario.quota + Double(scenario.burst))
        // A replica has its twelfth while the store is away, and the whole quota is used soon after.
        #expect(results[3].usedInOutage < 0.9)
        #expect(results[3].usedAfterOutage > 0.97)
        #expect(Double(results[3].most) <= scenario.quota * 1.25 + Double(scenario.burst))
    }

    @Test("The same seed gives the same bytes, another seed different ones")
    func repeats() async throws {
        func run(_ seed: UInt64) async throws -> [String] {
            var scenario = Scenario.small
            scenario.seed = seed
            let report = StudyReport(
                scenario: scenario, results: try await Study(scenario).run([.shared]))
            return [report.json.description, report.table, StudyChart(report).svg]
        }
        let first = try await run(4)
        #expect(first == (try await run(4)))
        #expect(first != (try await run(5)))
        #expect(first[2].hasPrefix("<svg ") && first[2].hasSuffix("</svg>\n"))
    }
}
