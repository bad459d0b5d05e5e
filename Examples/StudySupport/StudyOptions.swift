// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The command line options of a study.
public struct StudyOptions: Sendable {
    /// The seed of all random values, or the first of several.
    public private(set) var seed: UInt64 = 1
    /// The number of seeds; nil if it is not given.
    public private(set) var seeds: Int?
    /// The given flags of this program.
    public private(set) var flags: Set<String> = []
    // The file for the chart.
    private(set) var svg: String?
    private(set) var isJSON = false

    init(_ arguments: ArraySlice<String>, of program: StudyProgram) throws {
        let wrong = Usage(description: "usage: \(program.name) \(program.usage)")
        var rest = arguments
        while let argument = rest.popFirst() {
            switch argument {
            case "--json": isJSON = true
            case "--svg":
                guard let file = rest.popFirst() else { throw wrong }
                svg = file
            case "--seed":
                guard let number = rest.popFirst().flatMap({ UInt64($0) }) else { throw wrong }
                seed = number
            case "--seeds":
                guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0,
                    number <= program.maxSeeds
                else { throw wrong }
                seeds = number
            case _ where program.flags.contains(argument): flags.insert(argument)
            default: throw wrong
            }
        }
    }

    /// Prints the table or the JSON.
    ///
    /// Writes the chart if a file is given for it.
    public func show(table: String, json: String, svg chart: String) throws {
        print(isJSON ? json : table)
        if let svg { try Data(chart.utf8).write(to: URL(filePath: svg)) }
    }
}

private struct Usage: Error, CustomStringConvertible {
    let description: String
}
