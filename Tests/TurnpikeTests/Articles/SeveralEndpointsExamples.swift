// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeAuthentication
import TurnpikeEndpoints
import TurnpikeTraffic

@Suite("Several endpoints behind one name")
struct SeveralEndpointsExamples {
    @Test("Each request goes to one of the endpoints, under the logical name")
    func list() async throws {
        let transport = MockTransport { _ in .ok(text: "[]") }
        let client = Client(transport: transport) {
            Retry()
            AttemptTimeout(.seconds(2))
            Endpoints(
                for: "users.internal",
                from: .list(["10.0.0.7:8080", "10.0.0.8:8080", "10.0.0.9:8080"]))
        }
        let users = try await client.get("http://users.internal/users").data()
        #expect(users == Data("[]".utf8))
        let request = try #require(transport.sent.first?.request)
        #expect(request.url.absoluteString == "http://users.internal/users")
        let targets = (7...9).map { ConnectTarget.host("10.0.0.\($0)", port: 8080) }
        #expect(try targets.contains(#require(request.options.connectTarget)))
    }

    @Test("Lists come from files and from DNS")
    func lists() {
        let client = Client(transport: MockTransport { _ in .ok() }) {
            Endpoints(for: "users.internal", from: .file("/run/endpoints/users.json"))
            Endpoints(for: "users.internal", from: .dns("users.prod.svc.cluster.local", port: 8080))
        }
        #expect(client.fault == nil)
    }

    @Test("A canary gets its share of the users, with the credential")
    func canary() async throws {
        let transport = MockTransport { _ in .ok() }
        let token = "t"
        let client = Client(
            baseURL: "https://api.example.com/", transport: transport,
            stack: [
                .deadline(), .validate(), .redirect(),
                .canary(
                    of: "https://api.example.com/",
                    groups: ["https://api.example.com/": 95, "https://next.example.com/": 5],
                    key: { $0.headers["X-User"] }),
                .bearer(
                    token: token, origins: ["https://api.example.com", "https://next.example.com"]),
                .retry(), .circuitBreaker(), .attemptTimeout(), .limits(),
            ])
        #expect(client.stack.lint(for: transport, baseURL: client.baseURL) == [])
        for user in 0..<200 {
            _ = try await client.get("x", headers: ["X-User": "\(user)"]).response()
        }
        let moved = transport.sent.map(\.request).filter { $0.url.host() == "next.example.com" }
        #expect((1...25).contains(moved.count))
        #expect(moved.allSatisfy { $0.headers[.authorization] == "Bearer t" })
    }

    @Test("A mirror gets copies, and the figures say whether its answers are the same")
    func mirror() async throws {
        let store = MetricsStore()
        let transport = MockTransport { .ok(text: $0.url.host() ?? "") }
        let mirroring = Switch(share: 0.1)
        let client = Client(
            baseURL: "https://api.example.com/", transport: transport,
            stack: [
                .deadline(), .validate(), .redirect(), .retry(), .attemptTimeout(), .limits(),
                .switched(
                    by: mirroring,
                    [
                        .mirror(
                            of: "https://api.example.com/", to: "https://next.example.com/",
                            meter: store)
                    ]),
            ])
        #expect(client.stack.lint(for: transport, baseURL: client.baseURL) == [])
        mirroring.set(share: 1, by: "the test")
        #expect(try await client.get("x").string() == "api.example.com")
        await client.shutdown(grace: .seconds(60))
        let line = "turnpike_mirror_copies_total{turnpike_result=\"content\"} 1"
        #expect(store.prometheusText.contains(line))
    }
}
