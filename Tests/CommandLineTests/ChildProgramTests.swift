// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

/// Programs that may crash or hang, as children, and with fewer rounds than by hand.
@Suite("Programs under stress", .serialized)
struct ChildProgramTests {
    /// Runs a program that stands beside the tests; gives its figures.
    private func figures(of program: String, _ arguments: String...) async throws -> JSONValue {
        let ended = await Blocking.run { Result { try Self.run(program, arguments) } }
        let (status, output, messages) = try ended.get()
        #expect(status == 0, "\(String(decoding: messages, as: UTF8.self))")
        return try JSONValue(parsing: output)
    }

    private static func run(
        _ program: String, _ arguments: [String]
    ) throws -> (status: Int32, output: Data, messages: Data) {
        let process = Process()
        let output = Pipe()
        let messages = Pipe()
        process.executableURL = Bundle.main.bundleURL.appending(path: program)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = messages
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        let fault = try messages.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, text, fault)
    }

    @Test("exec answers every line, whatever it holds", .timeLimit(.minutes(5)))
    func fuzz() async throws {
        let figures = try await figures(of: "turnpike-fuzz", "--lines", "600", "--seed", "2026")
        #expect(figures["lines"] == 600)
        // Lines that went through, and mistakes of more than one kind.
        #expect((figures["responses"]?.int ?? 0) > 60)
        #expect((figures["errors"]?.object?.count ?? 0) > 3)
    }

    @Test(
        "A client over libcurl outlives the head of every response", .timeLimit(.minutes(5)))
    func heads() async throws {
        let figures = try await figures(of: "turnpike-fuzz", "--heads", "1500", "--seed", "2026")
        #expect(figures["heads"] == 1500)
        // Heads that were taken, and mistakes of more than one kind.
        #expect((figures["responses"]?.int ?? 0) > 100)
        #expect((figures["errors"]?.object?.count ?? 0) > 2)
    }

    #if os(Linux)
    @Test("A client gains no memory and no descriptors by its requests", .timeLimit(.minutes(5)))
    func endurance() async throws {
        let figures = try await figures(
            of: "turnpike-endurance", "--requests", "1500", "--transport", "urlsession")
        #expect(figures["client"]?["gainedDescriptors"] == [:])
    }

    @Test(
        "A client over libcurl gains none either, however its requests end",
        .timeLimit(.minutes(5)))
    func curlEndurance() async throws {
        let figures = try await figures(of: "turnpike-endurance", "--requests", "3000")
        #expect((figures["liveMiB"]?.array?.last?.double ?? 0) > 0.1)
    }
    #endif
}
