// SPDX-License-Identifier: Apache-2.0

import StudySupport
import Turnpike

/// Shows how six stacks load a server during a brown-out, and how many of their calls succeed.
///
/// `swift run -c release outage-study [--svg FILE] [--seed N] [--json]`, with
/// `[--seeds N] [--rules | --classes | --fleet]` for medians.
@main
struct OutageStudy {
    static func main() async {
        let program = StudyProgram(
            "outage-study",
            "[--svg FILE] [--seed N] [--json] | [--rules | --classes | --fleet] [--seeds N]",
            maxSeeds: .max, flags: ["--rules", "--classes", "--fleet"])
        await program.run { options in
            if options.flags.contains("--rules") { return try await printRules(options.seeds ?? 1) }
            if options.flags.contains("--classes") {
                return try await printClasses(options.seeds ?? 1)
            }
            if options.flags.contains("--fleet") {
                let seeds = options.seed..<options.seed + UInt64(options.seeds ?? 1)
                for capacity in [60.0, 0] {
                    let rows = try await FleetStudy.table(seeds, brownCapacity: capacity)
                    print(StudyReport.aligned(rows) + "\n")
                }
                return
            }
            if let seeds = options.seeds { return try await printStacks(seeds) }
            var scenario = Scenario()
            scenario.seed = options.seed
            let outcomes = try await Study(scenario).run()
            let report = StudyReport(scenario: scenario, outcomes: outcomes)
            try options.show(
                table: report.table, json: report.json.description, svg: StudyChart(report).svg)
        }
    }

    // Prints the medians of each stack.
    private static func printStacks(_ seeds: Int) async throws {
        var rows = [Medians.head]
        for strategy in Strategy.allCases {
            let medians = try await medians(seeds) { try await $0.run(strategy) }
            rows.append(medians.cells(strategy.rawValue))
        }
        print(StudyReport.aligned(rows))
    }

    // Prints the medians of each rule: with a state for each client, then with one for all.
    private static func printRules(_ seeds: Int) async throws {
        for isShared in [false, true] {
            var rows = [Medians.head]
            rows[0][0] = isShared ? "one state for all clients" : "a state for each client"
            for contender in Contender.all {
                let medians = try await medians(seeds) {
                    try await $0.run(contender, isShared: isShared)
                }
                rows.append(medians.cells(contender.name))
            }
            print(StudyReport.aligned(rows) + "\n")
        }
    }

    // The medians of each line.
    private static func printClasses(_ seeds: Int) async throws {
        var rows = [["", "critical", "sheddable, of what is left", "aging"]]
        for line in ClassStudy.lines {
            var outcomes: [ClassStudy.Outcome] = []
            for seed in 1...seeds {
                outcomes.append(try await ClassStudy(seed: UInt64(seed)).run(line))
            }
            let medians = [\.upper, \.lower, \ClassStudy.Outcome.aging].map { figure in
                Figures.percent(Figures.median(outcomes.map { $0[keyPath: figure] }) ?? 0)
            }
            rows.append([line.name] + medians)
        }
        print(StudyReport.aligned(rows))
    }

    private static func medians(
        _ seeds: Int, _ run: (Study) async throws -> StrategyOutcome
    ) async throws -> Medians {
        var outcomes: [StrategyOutcome] = []
        for seed in 1...seeds {
            var scenario = Scenario()
            scenario.seed = UInt64(seed)
            outcomes.append(try await run(Study(scenario)))
        }
        return Medians(outcomes)
    }
}
