// SPDX-License-Identifier: Apache-2.0

package import Foundation
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

    /// Runs the program and gives what it prints.
    /// - Throws: A ``Failure`` with what it said, where it trapped, failed or took too long.
    package func output(
        _ arguments: [String], environment: [String: String] = [:], within limit: Duration
    ) async throws -> String {
        let child = try start(arguments, environment: environment, within: limit)
        await child.end()
        // What it prints fits in a pipe, so it never waited for a reader.
        let said = String(decoding: child.errors.availableData, as: UTF8.self)
        let process = child.process
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw Failure(
                description: "\(name) ended with \(process.terminationStatus)"
                    + (process.terminationReason == .exit ? "" : ", by a signal") + ": \(said)")
        }
        return String(decoding: child.output.availableData, as: UTF8.self)
    }

    /// Starts the program, for a test that reads while it runs, or writes to its input.
    package func start(
        _ arguments: [String], environment: [String: String] = [:], input: Pipe? = nil,
        within limit: Duration
    ) throws -> Child {
        // The products of a build are in one folder, that of the tests among them.
        let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let process = Process()
        process.executableURL = folder.appending(path: name)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
            .merging(environment) { $1 }
        if let input { process.standardInput = input }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        // A child of a dispatch thread inherits its blocked signals; this one cannot be blocked.
        let child = process.processIdentifier
        let timer = SystemTimeSource().schedule(after: limit) { kill(child, SIGKILL) }
        return Child(
            process: process, output: output.fileHandleForReading,
            errors: errors.fileHandleForReading, ends: ends, timer: timer)
    }

    /// A program that runs, and is killed if it outlasts its limit.
    package struct Child: Sendable {
        package let process: Process
        package let output: FileHandle
        package let errors: FileHandle
        fileprivate let ends: AsyncStream<Void>
        fileprivate let timer: any TimerToken

        /// Waits until the process has ended.
        package func end() async {
            for await _ in ends {}
            timer.cancel()
        }
    }
}
