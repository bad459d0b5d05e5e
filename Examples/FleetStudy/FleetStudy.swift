// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// What replicas with local and with shared limits make of a quota.
///
/// `swift run -c release fleet-study [--seed SEED] [--svg FILE] [--json]`
@main
enum FleetStudy {
    static func main() async throws {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            var scenario = Scenario()
            scenario.seed = options.seed
            let report = StudyReport(
                scenario: scenario, results: try await Study(scenario).run())
            print(options.isJSON ? report.json.description : report.table)
            if let file = options.svg {
                try Data(StudyChart(report).svg.utf8).write(to: URL(filePath: file))
            }
        } catch {
            FileHandle.standardError.write(Data("fleet-study: \(error)\n".utf8))
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
    let description = "usage: fleet-study [--seed SEED] [--svg FILE] [--json]"
}
