// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeInspection
import TurnpikeTesting
import TurnpikeTraffic

@Suite("Order of the stack")
struct OrderOfTheStackExamples {
    @Test("A log outside a retry logs calls, one inside logs attempts")
    func logs() async throws {
        let sink = MemoryLogSink()
        let stack: Stack = [
            .log(to: sink),  // a line for each call
            .deadline(.seconds(30)), .validate(), .retry(attempts: 3),
            .log(to: sink),  // a line for each attempt
            .attemptTimeout(.seconds(5)),
        ]
        let transport = MockTransport([.any(.connectionLost, .ok(text: "x"))])
        let client = Client(transport: transport, stack: stack)
        _ = try await client.get("http://a.example/").string()
        // An attempt that failed, the retry, an attempt and a call that went well.
        #expect(sink.lines.count == 4, "\(sink.lines)")
    }

    @Test("The linter finds nothing in the standard stack, and can be told what is meant")
    func lint() {
        let transport = MockTransport([])
        let client = Client(
            baseURL: "https://api.example.com/", transport: transport, stack: .standard)
        #expect(client.stack.lint(for: transport, baseURL: client.baseURL).isEmpty)
        let stack: Stack = [
            .deadline(), .circuitBreaker(), .retry(), .attemptTimeout(), .limits(),
        ]
        // The circuit should open when retries no longer help.
        let findings = stack.lint(for: transport, ignoring: ["breaker-outside-retry"])
        #expect(findings.isEmpty)
    }

    @Test("A call's options apply to it alone")
    func wishes() async throws {
        let transport = MockTransport { request in
            .status(
                request.headers["X-Trace"] == "on" ? 404 : 200,
                headers: ["Content-Type": "text/plain"], body: Data("none".utf8))
        }
        let client = Client(
            baseURL: "http://a.example/", transport: transport, stack: [.validate()])
        let report = try await client.get("report")
            .deadline(.seconds(120))
            .attemptTimeout(.seconds(60))
            .validate(status: [200, 404])
            .through(SetHeaders(["X-Trace": "on"]))
            .string()
        #expect(report == "none")
        let error = await #expect(throws: ClientError.self) {
            try await client.get("report").header("X-Trace", "on").string()
        }
        #expect(error?.code == .validation)
    }
}
