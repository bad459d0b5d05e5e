// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import ServiceLifecycle
import Testing
import Turnpike
import TurnpikeLifecycle
import UnixSignals

private func readme(_ transport: any Transport, _ server: any Service) async throws {
    let client = Client(
        transport: transport, stack: [.deadline(.seconds(30)), .retry(attempts: 3)])
    let group = ServiceGroup(
        services: [ClientService(client, grace: .seconds(5)), server],
        gracefulShutdownSignals: [.sigterm],
        logger: Logger(label: "service"))
    try await group.run()
}

@Suite("README of the bridge")
struct ReadmeTests {
    /// A server that ends at once, and whose end also ends the group.
    private struct Server: Service {
        func run() async {}
    }

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
        let notes = Notes()
        let transport = ClosingTransport(MockTransport { _ in .ok() }, notes)
        await #expect(throws: (any Error).self) { try await readme(transport, Server()) }
        #expect(notes.all == ["transport"])
    }
}
