// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

/// Programs that may crash or hang, as children, and with fewer rounds than by hand.
@Suite("Programs under stress", .serialized)
struct ChildProgramTests {
    /// Runs a program that stands beside the tests, and returns its figures.
    private func figures(of program: String, _ arguments: String...) async throws -> JSONValue {
        let said = try await Program(program).output(arguments, within: .seconds(280))
        return try JSONValue(parsing: Data(said.utf8))
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
            of: "turnpike-endurance", "--requests", "\(Runs.size(300, all: 1500))",
            "--transport", "urlsession")
        #expect(figures["client"]?["gainedDescriptors"] == [:])
    }

    @Test(
        "A client over libcurl gains none either, however its requests end",
        .timeLimit(.minutes(5)))
    func curlEndurance() async throws {
        let figures = try await figures(
            of: "turnpike-endurance", "--requests", "\(Runs.size(1000, all: 3000))")
        #expect((figures["liveMiB"]?.array?.last?.double ?? 0) > 0.1)
    }
    #endif
}
