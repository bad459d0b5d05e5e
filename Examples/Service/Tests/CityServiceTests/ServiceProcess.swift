// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation

/// The service as a child process, with its own files in a temporary folder.
final class ServiceProcess {
    struct Late: Error, CustomStringConvertible { let description: String }

    private var process: ChildProcess?
    private let folder: URL

    /// Starts the service on ports that the system chooses.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "cities-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        process?.kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts the service, and waits for the URL that it prints.
    func start() async throws -> URL {
        // Files, because a pipe that nobody reads would block the child.
        let process = try ChildProcess(
            Self.program().path(percentEncoded: false),
            environment: [
                "SERVICE_CONFIG": folder.appending(path: "service.json").path(
                    percentEncoded: false),
                "HTTP_PORT": "0", "SWIFT_BACKTRACE": "enable=no", "http_proxy": nil,
            ], output: .handle(file("output")), errors: .handle(file("log")))
        self.process = process
        var found: URL?
        try await until("the service prints its URL") {
            if !process.isRunning { throw Late(description: "the service has ended: \(log)") }
            // Only complete lines count.
            let line = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                .first { $0.hasPrefix("try http") }
            found = line.flatMap { URL(string: String($0.dropFirst(4))) }
            return found != nil
        }
        return URL(string: "/", relativeTo: found)?.absoluteURL ?? URL(filePath: "/")
    }

    /// Replaces a file of the service at once.
    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: folder.appending(path: name), options: .atomic)
    }

    func signal(_ signal: Int32) { process?.signal(signal) }

    /// Waits for the end of the service.
    func end() async throws -> Int32 {
        try await until("the service ends") { process?.isRunning != true }
        return process?.wait().status ?? -1
    }

    var output: String { text("output") }
    var log: String { text("log") }

    private func text(_ name: String) -> String {
        let data = try? Data(contentsOf: folder.appending(path: name))
        return String(decoding: data ?? Data(), as: UTF8.self)
    }

    private func file(_ name: String) throws -> FileHandle {
        let url = folder.appending(path: name)
        try Data().write(to: url)
        return try FileHandle(forWritingTo: url)
    }

    /// The program, which is in the same folder as the tests.
    private static func program() throws -> URL {
        let tests = CommandLine.arguments.first.map { URL(filePath: $0) }
        let folders =
            [
                Bundle.main.executableURL?.deletingLastPathComponent(),
                tests?.deletingLastPathComponent(),
            ] + Bundle.allBundles.map { $0.bundleURL.deletingLastPathComponent() }
        for folder in folders {
            if let program = folder?.appending(path: "CityService"),
                FileManager.default.isExecutableFile(atPath: program.path(percentEncoded: false))
            {
                return program
            }
        }
        throw Late(description: "there is no program CityService beside the tests: \(folders)")
    }
}

/// Waits at most two minutes for a condition in another process.
func until(
    _ what: String, isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(120)
    while try await !condition() {
        if ContinuousClock.now >= end { throw ServiceProcess.Late(description: "late: \(what)") }
        try await Task.sleep(for: .milliseconds(20))
    }
}
