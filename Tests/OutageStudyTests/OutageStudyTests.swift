// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TurnpikeCore
@testable import outage_study

@Suite("The outage study")
struct OutageStudyTests {
    private static func scenario(_ seed: UInt64) -> Scenario {
        var scenario = Scenario.small
        scenario.seed = seed
        return scenario
    }

    @Test(
        "The laws of the study hold for every seed",
        arguments: Runs.size([1], all: [1, 2, 3] as [UInt64]))
    func laws(seed: UInt64) async throws {
        let outcomes = try await Study(Self.scenario(seed)).run()
        #expect(outcomes.map(\.name) == Strategy.allCases.map(\.rawValue))
        let load = outcomes.map(\.amplification)
        for (more, less) in zip(load.prefix(4), load.prefix(4).dropFirst()) {
            #expect(more > less, "each stack asks for less than the one before: \(load)")
        }
        let (naive, backoff, budget, guarded) = (outcomes[0], outcomes[1], outcomes[2], outcomes[3])
        // Four attempts each, at once or later: more than the well server bears, so that it stays
        // down.
        #expect(naive.amplification > 3.5 && backoff.amplification > 3)
        #expect(naive.recovery == nil && backoff.recovery == nil)
        // A tenth of the calls, and a floor of as much.
        #expect(budget.amplification < 1.25)
        let recovery = try #require(budget.recovery)
        #expect(recovery <= 15)
        // A breaker sends next to nothing that will fail, and its probes find the end.
        #expect(guarded.amplification < 0.5)
        #expect(try #require(guarded.recovery) <= recovery)
        #expect(guarded.successAfter > budget.successAfter)
        #expect(guarded.successDuring >= naive.successDuring)
        // Admission finds the share that the server can serve: by itself slowly, together at once.
        let (admitted, shared) = (outcomes[4], outcomes[5])
        for outcome in [admitted, shared] {
            #expect(outcome.amplification < 0.5)
            #expect(try #require(outcome.recovery) <= 16)
            #expect(outcome.successDuring > budget.successDuring)
        }
        #expect(shared.successDuring > guarded.successDuring + 0.03)
        // Until the brown-out all are alike.
        for outcome in outcomes {
            let before = 0..<outcome.scenario.before - 2
            #expect(outcome.successes[before] == outcome.calls[before])
            #expect(outcome.calls == naive.calls, "the calls are the same")
        }
    }

    @Test("The same seed gives the same bytes, another seed different ones")
    func repeats() async throws {
        func run(_ seed: UInt64) async throws -> [String] {
            let scenario = Self.scenario(seed)
            let outcome = try await Study(scenario).run(.budget)
            let report = StudyReport(scenario: scenario, outcomes: [outcome])
            return [report.json.description, report.table, StudyChart(report).svg]
        }
        let first = try await run(4)
        #expect(first == (try await run(4)))
        #expect(first != (try await run(5)))
        #expect(first[2].hasPrefix("<svg ") && first[2].hasSuffix("</svg>\n"))
    }

    @Test("A black-out of a fleet ends, and its breakers spare the server, wherever their state is")
    func fleet() async throws {
        for sharing in FleetStudy.Sharing.allCases {
            var study = FleetStudy(scenario: .small, processes: 4)
            study.scenario.brownCapacity = 0
            let outcome = try await study.run(FleetStudy.rules[0], sharing)
            #expect(try #require(outcome.recovery) <= 20, "\(sharing)")
            #expect(outcome.amplification < 0.5 && outcome.wasted > 0, "\(sharing)")
        }
    }

    @Test(
        "Each rule runs, with a state for each client and with one for all",
        arguments: Runs.size([true], all: [true, false]))
    func rules(isShared: Bool) async throws {
        var scenario = Self.scenario(1)
        (scenario.before, scenario.outage, scenario.after) = (3, 5, 5)
        for contender in Contender.all {
            let outcome = try await Study(scenario).run(contender, isShared: isShared)
            #expect(outcome.name == contender.name)
            // Rules that compare what was asked for with what was accepted also refuse calls that
            // begin together.
            if !contender.name.hasPrefix("AdmissionControl") { continue }
            let before = 0..<outcome.scenario.before - 2
            #expect(outcome.successes[before] == outcome.calls[before], "\(contender.name)")
        }
    }

    @Test(
        "Critical calls succeed though three times the capacity is asked for, and leave the rest to others",
        arguments: ClassStudy.lines.filter { $0.tellsClass && !$0.name.contains("1000") })
    func classes(line: ClassStudy.Line) async throws {
        var study = ClassStudy()
        study.seconds = Runs.size([10], all: [60])[0]
        let outcome = try await study.run(line)
        #expect(outcome.upper >= 0.99, "\(outcome)")
        #expect(outcome.lower >= 0.9, "\(outcome)")
        #expect(outcome.aging > 0 && outcome.aging <= 0.05, "\(outcome)")
    }

    @Test("Medians are of the middle, and of no recovery if most have none")
    func medians() {
        var scenario = Scenario.small
        (scenario.before, scenario.outage, scenario.after) = (1, 1, 20)
        func outcome(_ failing: Int) -> StrategyOutcome {
            StrategyOutcome(
                name: "a", scenario: scenario, requests: Array(repeating: 30, count: 22),
                calls: Array(repeating: 20, count: 22),
                successes: [20, 5] + (0..<20).map { $0 < failing ? 0 : 20 })
        }
        #expect(
            Medians([1, 3, 4].map(outcome)).cells("a") == [
                "a", "x1.50", "25.0 %", "85.0 %", "3.0 s",
            ])
        #expect(Medians([1, 4].map(outcome)).cells("a")[4] == "2.5 s")
        #expect(Medians([1, 20, 20].map(outcome)).cells("a")[4] == "not")
    }

    @Test("Recovery is measured by successful calls")
    func recovery() {
        var scenario = Scenario.small
        (scenario.before, scenario.outage, scenario.after) = (1, 1, 20)
        func recovery(_ successes: [Int]) -> Int? {
            StrategyOutcome(
                name: "naive", scenario: scenario,
                requests: Array(repeating: 0, count: 22), calls: Array(repeating: 20, count: 22),
                successes: [20, 0] + successes
            ).recovery
        }
        let good = Array(repeating: 20, count: 20)
        #expect(recovery(good) == 0)
        #expect(recovery([0, 0, 0] + good.dropLast(3)) == 3)
        #expect(recovery(Array(repeating: 0, count: 20)) == nil)
        #expect(recovery(good.dropLast() + [0]) == nil, "it has just failed again")
    }
}
