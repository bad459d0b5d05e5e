// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Secrets in logs")
struct SecretsInLogsTests {
    private let sink = MemoryLogSink()

    @Test("A secret that a server repeats is hidden, whatever mark is next to it")
    func repeated() async throws {
        let echo = "\u{301}pl4nted-e\u{301}, pl4nted-\u{E9}\u{200D} pl4nted-two\u{301}"
        let client = Client(
            MockTransport { _ in .ok(text: echo, headers: ["X-Debug": "you sent pl4nted-two"]) },
            [.log(to: sink, level: .debug, peekBytes: 4096)])
        let response = try await client.get(
            anywhere,
            headers: [
                "X-Api-Key": "pl4nted-e\u{301}", "X-Token": "pl4nted-\u{E9}",
                "Authorization": "Bearer pl4nted-two",
            ]
        ).response()
        _ = try await response.body.collect(upTo: 1000)
        let lines = Data(sink.lines.joined(separator: "\n").utf8)
        #expect(lines.range(of: Data("REDACTED".utf8)) != nil)
        #expect(lines.range(of: Data("pl4nted".utf8)) == nil, "\(sink.lines)")
    }
}
