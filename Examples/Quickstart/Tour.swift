// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeDownloads
import TurnpikeTesting

struct User: Codable, Sendable {
    var id: Int
    var name: String
}

/// The main steps against a local server, and then the same stack over a mock.
struct Tour {
    func run() async throws {
        let server = try TestServer()
        server.route("/users/1", .ok(json: ["id": 1, "name": "Ada"]))
        // It fails twice before it succeeds.
        server.route("/flaky", .status(503), .status(503), .ok(json: ["id": 2, "name": "Grace"]))
        server.route("/settings", .ok(data: try settings(), type: .propertyList))
        server.route("/big", .bytes(8_000_000))
        let metrics = MetricsStore()
        let client = Client(baseURL: server.target, stack: stack(metrics: metrics))

        print("1. JSON, decoded into a type")
        let user = try await client.get("users/1").decode(User.self)
        print("    \(user.name)")

        print("2. A server that fails twice")
        let running = client.get("flaky").start(.decode(User.self))
        print("    \(try await running.value.name)")
        show(running.timeline)

        print("3. A property list")
        let value = try await client.get("settings").propertyList()
        print("    theme: \(value["theme"]?.string ?? "?")")

        print("4. A download with progress")
        let file = try await download(client.get("big"))
        try FileManager.default.removeItem(at: file.url)

        print("5. A refusal, as an error that says why")
        do {
            _ = try await client.get("nowhere").string()
        } catch ClientError.Code.validation {
            print("    as expected")
        }
        await client.shutdown(grace: .seconds(1))

        print("6. What was measured")
        report(metrics)
        print(
            "    the server saw \(server.counts.requests) requests on \(server.counts.accepted) connections"
        )

        print("7. The same stack over a mock, no server needed")
        try await mock()
    }

    private func settings() throws -> Data {
        try PropertyListValue.dictionary(["theme": .string("dark")]).data()
    }

    private func mock() async throws {
        let transport = MockTransport([
            .on(.get, "/users/1", .status(503), .ok(json: ["id": 1, "name": "Mock Ada"]))
        ])
        let client = Client(
            baseURL: "https://api.example.com/", transport: transport,
            stack: stack(metrics: MetricsStore()))
        print("    \(try await client.get("users/1").decode(User.self).name)")
        let tenants = transport.sent.compactMap { $0.request.headers["X-Tenant"] }
        print(
            "    the mock was asked \(transport.sentCount) times, by tenant \(tenants.first ?? "?")"
        )
    }
}
