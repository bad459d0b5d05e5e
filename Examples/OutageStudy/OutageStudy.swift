// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// What four stacks do to a server that browns out, and what the server then does to them.
///
/// `swift run outage-study [--svg FILE] [--seed N] [--json]`
@main
struct OutageStudy {
    static func main() async throws {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
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
}

/// The options of the command line.
private struct Options {
    var svg: String?
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
            case "--seed":
                guard let number = rest.popFirst().flatMap({ UInt64($0) }) else { throw Usage() }
                seed = number
            default: throw Usage()
            }
        }
    }
}

private struct Usage: Error, CustomStringConvertible {
    let description = "usage: outage-study [--svg FILE] [--seed N] [--json]"
}
