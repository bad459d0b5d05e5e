// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCommandLine

@Suite("The metrics of exec")
struct ExecMetricsTests {
    private let folder = TemporaryFolder()
    private let stack: String

    init() throws {
        let path = folder["metrics.prom"]
        stack = try folder.write(
            """
            {"transport": {"use": "mock", "responses": [{"status": 503}]}, "stack": [
                {"use": "metrics", "to": "\(path)"},
                {"use": "circuitBreaker", "minimum": 2, "metrics": "\(path)"},
                {"use": "metrics", "to": "\(path)"}
            ]}
            """, to: "stack.json")
    }

    private func text() throws -> String {
        String(decoding: try #require(folder.contents(of: "metrics.prom")), as: UTF8.self)
    }

    @Test("The file holds the measurements of all lines' clients and of both gates")
    func whole() async throws {
        let lines = (0..<3).map { #"{"request": {"url": "http://a\#($0).example/"}}"# + "\n" }
        #expect(await Exec.answers(to: lines.joined(), "--stack", stack).count == 3)
        let text = try text()
        for number in 0..<3 {
            let count = text.split(separator: "\n").first {
                $0.hasPrefix("http_client_request_duration_seconds_count{")
                    && $0.contains("a\(number).example")
            }
            #expect(count?.hasSuffix(" 2") == true, "one by each gate: \(count ?? "none")")
        }
        let types = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE") }
        #expect(Set(types).count == types.count)
        #expect(folder.names == ["metrics.prom", "stack.json"], "no file is left beside it")
        let mode = try FileManager.default.attributesOfItem(atPath: folder["metrics.prom"])
        #expect((mode[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }

    @Test("The file shows a breaker that a line has opened")
    func breaker() async throws {
        let line = #"{"request": {"url": "http://a.example/"}, "repeat": 3}"# + "\n"
        let answers = await Exec.answers(to: line, "--stack", stack)
        #expect(answers.first?["results"]?[2]?["error"]?["code"] == "circuitOpen")
        let labels = #"server_address="a.example",server_port="80""#
        let lines = try text().split(separator: "\n")
        #expect(lines.contains(#"turnpike_circuit_breaker_state{\#(labels),state="open"} 1"#))
        #expect(lines.contains("turnpike_circuit_breaker_refusals_total{\(labels)} 1"))
    }

    @Test("Checking a file writes no metrics")
    func check() {
        let terminal = FakeTerminal()
        #expect(CheckCommand.run([stack], terminal.terminal()) == 0)
        #expect(folder.names == ["stack.json"])
    }
}
