// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

@Suite("README", .timeLimit(.minutes(1)))
struct ReadmeTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()

    @Test("The example works")
    func works() async throws {
        let server = try TestServer()
        server.route("/cities/largest", .ok(json: ["name": "Tokyo"]))
        #expect(try await largestCity(at: server.target) == "Tokyo")
        server.stop()
    }

    @Test("The example is the file that is compiled here")
    func isCompiled() throws {
        let readme = try String(
            contentsOf: Self.tests.appending(path: "../../README.md"), encoding: .utf8)
        let example = try String(
            contentsOf: Self.tests.appending(path: "Example.swift"), encoding: .utf8)
        // The code begins after the license.
        let code = try #require(example.range(of: "\n\n")).upperBound
        #expect(readme.contains("```swift\n\(example[code...])```"))
    }
}
