// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TurnpikeCore
@testable import balance_study

@Suite("The study of balancing")
struct BalanceStudyTests {
    // The bounds of the study are medians of 20 seeds in a larger scenario; two seeds of the small
    // one stay well within these.
    @Test("The bounds of the study hold")
    func bounds() async throws {
        let cells = [
            Cell(weather: .well, balancing: .peakEWMA, retrying: .none),
            Cell(weather: .slow, balancing: .peakEWMA, retrying: .none),
            Cell(weather: .blackHole, balancing: .leastRequests, retrying: .none),
            Cell(weather: .blackHole, balancing: .peakEWMA, retrying: .none),
            Cell(weather: .restart, balancing: .leastRequests, retrying: .standard),
            Cell(weather: .zoneLost, balancing: .leastRequests, retrying: .standard),
        ]
        let seeds = Runs.size(1, all: 2)
        let results = try await Study(.small).run(cells, seeds: seeds)
        let report = StudyReport(scenario: .small, seeds: seeds, results: results)
        #expect(report.bounds.count == 5)
        for bound in report.bounds {
            #expect(bound.found <= bound.limit * 2, "\(bound)")
        }
        #expect(results.allSatisfy { $0.runs.count == seeds })
    }

    @Test("Without a choice, the clients of a black hole stay there")
    func none() async throws {
        let cells = [Cell(weather: .blackHole, balancing: .none, retrying: .standard)]
        let result = try #require(try await Study(.small).run(cells, seeds: 1).first)
        #expect(result.failed > 0.15 && result.failed < 0.25, "one endpoint of five")
    }

    @Test("The same seed gives the same bytes, another seed different ones")
    func repeats() async throws {
        func run(_ seed: UInt64) async throws -> [String] {
            var scenario = Scenario.small
            scenario.seed = seed
            scenario.weather = 10
            let cells = [Cell(weather: .failing, balancing: .peakEWMA, retrying: .none)]
            let results = try await Study(scenario).run(cells, seeds: 1)
            let report = StudyReport(scenario: scenario, seeds: 1, results: results)
            return [report.json.description, report.table, StudyChart(report).svg]
        }
        let first = try await run(4)
        #expect(first == (try await run(4)))
        #expect(first != (try await run(5)))
        #expect(first[2].hasPrefix("<svg ") && first[2].hasSuffix("</svg>\n"))
    }

    @Test("An endpoint serves by its workers, and loses its requests when it stops")
    func endpoint() {
        var scenario = Scenario()
        scenario.workers = 1
        scenario.queueLimit = 1
        var generator = SeededGenerator(seed: 1)
        var endpoint = SimulatedEndpoint(0, .restart, scenario)
        var ends: [Double] = []
        for _ in 0..<2 {
            if case .answered(.ok, let time) = endpoint.serve(at: 1, using: &generator) {
                ends.append(time)
            }
        }
        #expect(ends.count == 2 && 1 < ends[0] && ends[0] < ends[1], "one after the other")
        guard case .answered(.serviceUnavailable, 1) = endpoint.serve(at: 1, using: &generator)
        else {
            Issue.record("its line is full")
            return
        }
        guard case .reset(10) = endpoint.serve(at: 9.999_999, using: &generator) else {
            Issue.record("it stops at 10 s")
            return
        }
        #expect(endpoint.phase(at: 11).condition == .stopped)
        #expect(endpoint.hasStopped(after: 9, until: 11))
        guard case .answered(.ok, let back) = endpoint.serve(at: 13, using: &generator) else {
            Issue.record("it is back at 13 s")
            return
        }
        #expect(back > 13 && back < 14, "what waited is forgotten")
    }
}
