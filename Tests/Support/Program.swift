// SPDX-License-Identifier: Apache-2.0

package import ChildProcess
import Foundation
package import TurnpikeCore

/// A program of this package as a child process, with a limit on its time.
package struct Program {
    private let name: String

    package init(_ name: String) { self.name = name }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs the program and reads the report that it prints.
    /// - Throws: A ``Failure`` with what it said, where it trapped, failed or took too long.
    package func run(
        _ arguments: String..., environment: [String: String] = [:], within limit: Duration
    ) async throws -> JSONValue {
        try JSONValue(
            parsing: Data(await output(arguments, environment: environment, within: limit).utf8))
    }

    /// Runs the program and returns what it prints.
    /// - Throws: A ``Failure`` with what it said, where it trapped, failed or took too long.
    package func output(
        _ arguments: [String], environment: [String: String] = [:], within limit: Duration
    ) async throws -> String {
        let child = try start(arguments, environment: environment, within: limit)
        let (end, output, errors) = await child.finished()
        guard end == .exited(0) else {
            let said = String(decoding: errors, as: UTF8.self)
            throw Failure(description: "\(name) ended with \(end): \(said)")
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Starts the program, for a test that reads while it runs, or writes to its input.
    ///
    /// It is killed if it outlasts its limit.
    package func start(
        _ arguments: [String], environment: [String: String] = [:],
        input: ChildProcess.Stream = .inherited, within limit: Duration
    ) throws -> ChildProcess {
        try ChildProcess(
            Self.path(of: name), arguments,
            environment: environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { named, _ in named
            },
            input: input, output: .pipe, errors: .pipe, limit: limit)
    }

    /// The path of a program of this package: the products of a build are in one folder, the tests among them.
    package static func path(of name: String) -> String {
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: name)
            .path(percentEncoded: false)
    }
}
