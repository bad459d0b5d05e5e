// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeTesting

@Suite("Upgraded connections", .timeLimit(.minutes(1)))
struct UpgradeTests {
    private func client(
        capabilities: TransportCapabilities = .upgrades,
        _ serve: @escaping @Sendable (UpgradedConnection) async -> Void
    ) -> Client {
        let transport = MockTransport(capabilities: capabilities) { request in
            .upgrade(to: request.options.upgrade ?? "none", serve)
        }
        return Client(transport: transport, stack: [], serializers: SerializerTable())
    }

    private func connection(_ client: Client) async throws -> UpgradedConnection {
        var call = client.get("https://a.example/")
        call.request.options.upgrade = "echo"
        let response = try await call.response()
        #expect(response.status == 101 && response.headers[.upgrade] == "echo")
        return try #require(response.upgradedConnection)
    }

    private static let echo: @Sendable (UpgradedConnection) async -> Void = { peer in
        while let bytes = try? await peer.read(upTo: 1000) { try? await peer.write(bytes) }
    }

    @Test("Bytes go both ways, and one side may end before the other")
    func bothWays() async throws {
        let client = client(Self.echo)
        let connection = try await connection(client)
        #expect(connection.protocolName == "echo" && client.runningCallCount == 1)
        try await connection.write(Data("hello".utf8))
        #expect(try await connection.read(upTo: 3) == Data("hel".utf8))
        #expect(try await connection.read(upTo: 3) == Data("lo".utf8))
        try await connection.write(Data("last".utf8))
        try await connection.finishWriting()
        #expect(try await connection.read(upTo: 10) == Data("last".utf8))
        #expect(try await connection.read(upTo: 10) == nil)
        connection.close()
        try await until("the call ends") { client.runningCallCount == 0 }
        await expectError(.connection) { try await connection.write(Data([1])) }
    }

    @Test("The end of the client's calls closes the connection, and so does its release")
    func ends() async throws {
        let client = client(Self.echo)
        let held = try await connection(client)
        client.cancelAll()
        #expect(try await held.read(upTo: 10) == nil)
        _ = try await connection(client)
        try await until("the calls end") { client.runningCallCount == 0 }
    }

    @Test("Shutting down waits for the connection, and then closes it")
    func shutdown() async throws {
        let client = client(Self.echo)
        let connection = try await connection(client)
        await client.shutdown(grace: .milliseconds(1))
        #expect(try await connection.read(upTo: 10) == nil)
    }

    @Test("A transport without the capability sends nothing, and the fields stay the transport's")
    func refused() async throws {
        let client = client(capabilities: []) { _ in Issue.record("it was sent") }
        var call = client.get("https://a.example/")
        await expectError(.invalidRequest) {
            try await call.header(.upgrade, "websocket").response()
        }
        call.request.options.upgrade = "websocket"
        await expectError(.unsupported) { try await call.response() }
    }
}
