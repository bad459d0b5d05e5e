// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// What six stacks do to a server that browns out, and what the server then does to them.
///
/// `swift run -c release outage-study [--svg FILE] [--seed N] [--json]`, with
/// `[--seeds N] [--rules]` for medians.
@main
struct OutageStudy {
    static func main() async throws {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            if options.rules { return try await printRules(options.seeds ?? 1) }
            if let seeds = options.seeds { return try await printStacks(seeds) }
            var scenario = Scenario()
            scenario.seed = options.seed
            let outcomes = try await Study(scenario).run()
            let report = StudyReport(scenario: scenario, outcomes: outcomes)
            print(options.isJSON ? report.json.description : report.table)
            if let file = options.svg {
                try Data(StudyChart(report).svg.utf8).write(to: URL(filePath: file))
            }
        } catch {
            FileHandle.standardError.write(Data("outage-study: \(error)\n".utf8))
            exit(1)
        }
    }

    // The medians of each stack.
    private static func printStacks(_ seeds: UInt64) async throws {
        var rows = [Medians.head]
        for strategy in Strategy.allCases {
            let medians = try await medians(seeds) { try await $0.run(strategy) }
            rows.append(medians.cells(strategy.rawValue))
        }
        print(StudyReport.aligned(rows))
    }

    // The medians of each rule, once with a state for each client, once with one for all.
    private static func printRules(_ seeds: UInt64) async throws {
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

    private static func medians(
        _ seeds: UInt64, _ run: (Study) async throws -> StrategyOutcome
    ) async throws -> Medians {
        var outcomes: [StrategyOutcome] = []
        for seed in 1...seeds {
            var scenario = Scenario()
            scenario.seed = seed
            outcomes.append(try await run(Study(scenario)))
        }
        return Medians(outcomes)
    }
}

/// The options of the command line.
private struct Options {
    var svg: String?
    var seed: UInt64 = 1
    var seeds: UInt64?
    var isJSON = false
    var rules = false

    init(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        while let argument = rest.popFirst() {
            switch argument {
            case "--json": isJSON = true
            case "--rules": rules = true
            case "--svg":
                guard let file = rest.popFirst() else { throw Usage() }
                svg = file
            case "--seed":
                guard let number = rest.popFirst().flatMap({ UInt64($0) }) else { throw Usage() }
                seed = number
            case "--seeds":
                guard let number = rest.popFirst().flatMap({ UInt64($0) }), number > 0 else {
                    throw Usage()
                }
                seeds = number
            default: throw Usage()
            }
        }
    }
}

private struct Usage: Error, CustomStringConvertible {
    let description =
        "usage: outage-study [--svg FILE] [--seed N] [--json] | [--rules] [--seeds N]"
}
