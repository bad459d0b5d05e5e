// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeAsyncHTTPClient
import TurnpikeStackFiles
import TurnpikeTesting

@Suite("Stack files with async-http-client", .timeLimit(.minutes(1)))
struct StackFileTests {
    private static var registry: Registry {
        var registry = Registry.standard
        registry.registerAsyncHTTPClient()
        return registry
    }

    private func file(_ text: String) throws -> StackFile {
        try StackFile(parsing: Data(text.utf8))
    }

    @Test("A file names the transport, whose HTTPClient ends with the client")
    func works() async throws {
        let server = try TestServer()
        server.route("/", .ok(text: "fine"))
        let file = try file(
            """
            {"transport": {"use": "async-http-client", "connectTimeout": 5, "http2": false,
              "maxConnectionsPerHost": 2, "idleConnectionTimeout": 1,
              "trust": {"minimumTLS": "1.3"}}, "stack": []}
            """)
        let client = try ConfiguredClient(
            file, registry: Self.registry, serializers: .standard
        ).client
        let text = try await client.get(Target(server.url.absoluteString)).string()
        #expect(text == "fine")
        await client.shutdown()
        server.stop()
    }

    @Test("Mistakes are told with their places")
    func mistakes() throws {
        let file = try file(
            """
            {"transport": {"use": "async-http-client", "pins": [], "http2": 1,
              "trust": {"ca": "/nowhere.pem", "clientKey": "/nowhere.key"}}, "stack": []}
            """)
        let places = Set(file.check(with: Self.registry).map(\.path))
        #expect(
            places == [
                "transport.pins", "transport.http2", "transport.trust.ca",
                "transport.trust.clientKey",
            ])
    }
}
