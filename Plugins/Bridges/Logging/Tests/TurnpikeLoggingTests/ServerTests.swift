// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import Testing
import Turnpike
import TurnpikeLogging
import TurnpikeTesting

@Suite("LoggerSink over a server")
struct ServerTests {
    @Test("Calls over a real connection are logged once each")
    func calls() async throws {
        let server = try TestServer()
        server.route("/flaky", .status(503), .ok(text: "third time"))
        server.route("/moved", .redirect(302, to: "/flaky"))
        server.route("/short", .short(declared: 100, sent: Data("x".utf8)))
        let journal = Journal()
        let client = makeClient(
            URLSessionTransport(), [.log(to: LoggerSink(journal.logger)), .redirect(), retrying])
        let text = try await client.get("\(server.url)moved").string()
        #expect(text == "third time")
        #expect(
            journal.lines == [
                "info: HTTP redirect will be followed", "info: HTTP request will be retried",
                "info: HTTP request completed",
            ])
        let last = try #require(journal.entries.last?.metadata)
        #expect(last["server.address"]?.description == "127.0.0.1")
        #expect(last["server.port"]?.description == "\(server.port)")
        #expect(last["http.request.resend_count"]?.description == "2")

        let response = try await client.get("\(server.url)short").response()
        await #expect(throws: (any Error).self) { try await response.body.collect(upTo: 1000) }
        #expect(journal.lines.last == "error: HTTP request failed")
        #expect(journal.values("turnpike.body.end") == ["finished", "failed"])
        await client.shutdown(grace: .zero)
    }
}
