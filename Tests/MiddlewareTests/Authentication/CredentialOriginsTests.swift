// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("CredentialOrigins")
struct CredentialOriginsTests {
    private func client(
        _ transport: MockTransport, base: Target? = nil, _ origins: CredentialOrigins = .own
    ) -> Client {
        Client(
            baseURL: base, transport: transport,
            stack: [.redirect(), .bearer(token: "s", origins: origins)],
            serializers: SerializerTable())
    }

    private func transport(_ table: [String: String] = [:]) -> MockTransport {
        MockTransport { request in
            guard let location = table[request.url.absoluteString] else { return .ok() }
            return .status(307, headers: ["Location": location])
        }
    }

    private func carriers(_ transport: MockTransport) -> [String] {
        transport.sent.filter { $0.request.headers.contains(.authorization) }
            .map { $0.request.url.absoluteString }
    }

    @Test("The credential belongs to the origin of the base URL, whatever is requested first")
    func base() async throws {
        let transport = transport()
        let client = client(transport, base: "https://api.example/v1/")
        for target: Target in ["https://other.example/", "users", "http://api.example/"] {
            _ = try await client.get(target).response()
        }
        #expect(carriers(transport) == ["https://api.example/v1/users"])
    }

    @Test("Without a base URL the credential belongs to the origin of the first request")
    func first() async throws {
        let transport = transport()
        let client = client(transport)
        let targets: [Target] = [
            "https://a.example/", "https://b.example/", "https://a.example:444/",
            "https://A.example:443/2",
        ]
        for target in targets { _ = try await client.get(target).response() }
        #expect(carriers(transport) == ["https://a.example/", "https://A.example:443/2"])
    }

    @Test("A list is exact: scheme, host and port")
    func list() async throws {
        let transport = transport()
        let client = client(transport, ["https://a.example", "http://b.example:8080/"])
        let targets: [Target] = [
            "https://a.example/1", "http://a.example/", "https://sub.a.example/",
            "http://b.example:8080/2", "http://b.example/", "https://a.example.evil/",
        ]
        for target in targets { _ = try await client.get(target).response() }
        #expect(carriers(transport) == ["https://a.example/1", "http://b.example:8080/2"])
    }

    @Test(
        "A text that is not an origin fails calls before anything is sent",
        arguments: [
            "", "a.example", "ftp://a.example", "https://a.example/path", "https://a.example?q",
            "https://u@a.example", "https://", "*",
        ])
    func fault(text: String) async throws {
        let transport = transport()
        let client = client(transport, CredentialOrigins(parsing: [text]))
        #expect(await code(of: client.get("https://a.example/")) == .configuration)
        #expect(transport.sentCount == 0)
    }

    @Test("A redirect among the credential's own origins keeps it")
    func within() async throws {
        let transport = transport(["http://a.example/x": "http://b.example/y"])
        _ = try await client(transport, ["http://a.example", "http://b.example"])
            .get(anywhere).response()
        #expect(carriers(transport) == ["http://a.example/x", "http://b.example/y"])
    }

    @Test("A credential that a redirect dropped stays dropped, even on the way back")
    func bounce() async throws {
        let table = [
            "http://a.example/x": "http://evil.example/y",
            "http://evil.example/y": "http://a.example/delete",
        ]
        let there = transport(table)
        _ = try await client(there).get(anywhere).response()
        #expect(there.sentCount == 3)
        #expect(carriers(there) == ["http://a.example/x"])
        let home = transport(table)
        _ = try await client(home, ["http://a.example"]).get("http://evil.example/y").response()
        #expect(home.sentCount == 2)
        #expect(carriers(home) == [])
    }

    @Test("A redirect does not choose the origin of a gate that has not signed yet")
    func silent() async throws {
        let transport = transport(["http://a.example/x": "http://evil.example/y"])
        let client = Client(
            transport,
            [
                .redirect(), .basic(user: "u", password: "p", origins: ["http://a.example"]),
                .bearer(token: "s"),
            ])
        _ = try await client.get(anywhere).response()
        #expect(transport.authorizations == ["Basic dTpw", "-"])
    }

    @Test("A 401 of another origin, behind a redirect inside the gate, is ignored")
    func redirectInside() async throws {
        let transport = MockTransport { request in
            request.url.host() == "a.example"
                ? .status(302, headers: ["Location": "http://evil.example/y"])
                : .status(
                    401,
                    headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#])
        }
        let provider = CountingProvider()
        for gate: any Gate in [
            BearerAuthentication(BearerTokens(BearerToken("t0"), provider: provider)),
            DigestAuthentication(user: "u", password: "p"),
        ] {
            let client = Client(transport, Stack([gate, Redirect()]))
            #expect(try await client.get(anywhere).response().status == 401)
        }
        #expect(provider.count == 0)
        #expect(transport.authorizations == ["Bearer t0", "-", "-", "-"])
    }

    @Test("Each attempt begins with the credential, wherever a redirect led the previous one")
    func attempts() async throws {
        let table = [
            "http://a.example/x": "http://b.example/", "http://b.example/": "http://a.example/z",
        ]
        let transport = MockTransport { request in
            guard let location = table[request.url.absoluteString] else { return .status(503) }
            return .status(307, headers: ["Location": location])
        }
        let client = Client(
            transport,
            [.retry(attempts: 2, backoff: Backoff(base: .zero)), .redirect(), .bearer(token: "s")])
        _ = try await client.get(anywhere).response()
        // Behind the foreign hop there is none.
        #expect(transport.authorizations == ["Bearer s", "-", "-", "Bearer s", "-", "-"])
    }
}
