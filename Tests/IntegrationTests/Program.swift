import Foundation

@testable import TurnpikeCore

/// A program of this package as a child process, with a limit on its time.
struct Program {
    private let name: String

    init(_ name: String) { self.name = name }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs the program and reads the report that it prints.
    /// - Throws: A ``Failure`` with what it said, where it trapped, failed or took too long.
    func run(
        _ arguments: String..., environment: [String: String] = [:], within limit: Duration
    ) async throws -> JSONValue {
        try JSONValue(
            parsing: Data(await output(arguments, environment: environment, within: limit).utf8))
    }

    /// Runs the program and gives what it prints.
    /// - Throws: A ``Failure`` with what it said, where it trapped, failed or took too long.
    func output(
        _ arguments: [String], environment: [String: String] = [:], within limit: Duration
    ) async throws -> String {
        // The products of a build are in one folder, that of the tests among them.
        let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let process = Process()
        process.executableURL = folder.appending(path: name)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
            .merging(environment) { $1 }
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        // A child of a dispatch thread inherits its blocked signals; this one cannot be blocked.
        let child = process.processIdentifier
        let timer = SystemTimeSource().schedule(after: limit) { kill(child, SIGKILL) }
        for await _ in ends {}
        timer.cancel()
        // What it prints fits in a pipe, so it never waited for a reader.
        let said = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw Failure(
                description: "\(name) ended with \(process.terminationStatus)"
                    + (process.terminationReason == .exit ? "" : ", by a signal") + ": \(said)")
        }
        return String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    }
}
