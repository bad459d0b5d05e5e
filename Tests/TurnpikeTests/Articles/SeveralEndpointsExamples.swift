// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeEndpoints

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
}
