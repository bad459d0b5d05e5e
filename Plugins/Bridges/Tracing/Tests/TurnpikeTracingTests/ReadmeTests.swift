// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTracing

private func readme(_ transport: any Transport) async throws {
    let client = Client(
        baseURL: "https://api.example.com/",
        transport: transport,
        stack: [
            .log(to: .standardError),
            .tracing([
                .deadline(.seconds(30)), .validate(), .redirect(), .retry(attempts: 3),
                .attemptTimeout(.seconds(10)),
            ]),
        ])
    let user = try await client.get("users/1").urlTemplate("/users/{id}").string()

    // In an exporter that sends spans with this client, the calls of the exporter are not traced.
    try await Tracing.suppressed { try await client.post("v1/traces", json: user).empty() }
}

@Suite("README of the bridge")
struct ReadmeTests {
    private func text(_ path: String) throws -> String {
        let package = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: package.appending(path: path), encoding: .utf8)
    }

    // The README and the formatter may break lines in different places.
    private func bare(_ text: String) -> String { text.filter { !$0.isWhitespace } }

    @Test("Its code is compiled here, and runs")
    func code() async throws {
        let here = try bare(String(contentsOf: URL(filePath: #filePath), encoding: .utf8))
        let blocks = try text("README.md").components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        #expect(blocks.count == 1)
        for block in blocks { #expect(here.contains(bare(block))) }
        let transport = MockTransport { _ in .ok(text: "x") }
        try await readme(transport)
        #expect(transport.sentCount == 2)
    }
}
