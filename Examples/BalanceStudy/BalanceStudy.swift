// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// What three ways to choose an endpoint, and none, make of seven kinds of trouble.
///
/// `swift run -c release balance-study [--seeds N] [--seed FIRST] [--svg FILE] [--json]`
@main
struct BalanceStudy {
    static func main() async throws {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            var scenario = Scenario()
            scenario.seed = options.seed
            let results = try await Study(scenario).run(seeds: options.seeds)
            let report = StudyReport(scenario: scenario, seeds: options.seeds, results: results)
            print(options.isJSON ? report.json.description : report.table)
            if let file = options.svg {
                try Data(StudyChart(report).svg.utf8).write(to: URL(filePath: file))
            }
        } catch {
            FileHandle.standardError.write(Data("balance-study: \(error)\n".utf8))
            exit(1)
        }
    }
}

/// The options of the command line.
private struct Options {
    var svg: String?
    var seeds = 1
    var seed: UInt64 = 1
    var isJSON = false

    init(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        while let argument = rest.popFirst() {
            switch argument {
            case "--json": isJSON = true
            case "--svg":
                guard let file = rest.popFirst() else { throw Usage() }
                svg = file
            case "--seeds":
                guard let number = rest.popFirst().flatMap({ Int($0) }), 1...1000 ~= number else {
                    throw Usage()
                }
                seeds = number
            case "--seed":
                guard let number = rest.popFirst().flatMap({ UInt64($0) }) else { throw Usage() }
                seed = number
            default: throw Usage()
            }
        }
    }
}

private struct Usage: Error, CustomStringConvertible {
    let description =
        "usage: balance-study [--seeds 1...1000] [--seed FIRST] [--svg FILE] [--json]"
}
