// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Fields with secrets, set inside a redirect")
struct SecretFieldsTests {
    private static let fields: HTTPHeaders = ["X-Api-Key": "s", "X-Tenant": "blue"]

    /// The URLs that got a field, on a way that redirects lead.
    private func carriers(
        of name: HTTPHeaders.Name, _ gate: any Gate, way: [String]
    ) async throws -> [String] {
        let next = Dictionary(uniqueKeysWithValues: zip(way, way.dropFirst()))
        let transport = MockTransport { request in
            guard let location = next[request.url.absoluteString] else { return .ok() }
            return .status(302, headers: ["Location": location])
        }
        let client = Client(transport, Stack([Redirect(), gate]))
        _ = try await client.get(Target(way[0])).response()
        #expect(transport.sentCount == way.count)
        return transport.sent.filter { $0.request.headers.contains(name) }
            .map { $0.request.url.absoluteString }
    }

    private let way = ["http://a.example/1", "http://a.example/2", "http://b.example/"]

    @Test("Secret fields do not follow a redirect to another server, nor back; others do")
    func elsewhere() async throws {
        let back = way + ["http://a.example/3"]
        for gate: any Gate in [
            SetHeaders(Self.fields), SetHeaders(adding: Self.fields), DefaultHeaders(Self.fields),
        ] {
            #expect(try await carriers(of: "X-Api-Key", gate, way: back) == Array(way.prefix(2)))
            #expect(try await carriers(of: "X-Tenant", gate, way: back) == back)
        }
    }

    @Test("The caller's own URL, or an upgrade to https, sends the fields nowhere else")
    func home() async throws {
        let gate = SetHeaders(Self.fields)
        for way in [["http://b.example/"], ["http://a.example/", "https://a.example/"]] {
            #expect(try await carriers(of: "X-Api-Key", gate, way: way) == way)
        }
        let down = ["http://a.example/", "http://a.example:81/"]
        #expect(try await carriers(of: "X-Api-Key", gate, way: down) == Array(down.prefix(1)))
    }

    @Test("Only the listed origins get the fields")
    func named() async throws {
        for gate: any Gate in [
            SetHeaders(Self.fields, origins: ["http://a.example", "http://b.example"]),
            DefaultHeaders(Self.fields, origins: ["http://a.example", "http://b.example"]),
        ] {
            #expect(try await carriers(of: "X-Api-Key", gate, way: way) == way)
            let other = ["http://c.example/"]
            #expect(try await carriers(of: "X-Api-Key", gate, way: other) == [])
            #expect(try await carriers(of: "X-Tenant", gate, way: other) == other)
        }
        let faulty = Client(
            MockTransport { _ in .ok() }, [.setHeaders(Self.fields, origins: ["x"])])
        #expect(await code(of: faulty.get(anywhere)) == .configuration)
    }

    @Test("An upgrade to https on a port of its own sends the fields nowhere else either")
    func ownPort() async throws {
        let gate = SetHeaders(Self.fields)
        let way = ["http://a.example:8080/", "https://a.example:8080/"]
        #expect(try await carriers(of: "X-Api-Key", gate, way: way) == way)
        for other in ["https://a.example:8081/", "https://b.example:8080/"] {
            let way = ["http://a.example:8080/", other]
            #expect(try await carriers(of: "X-Api-Key", gate, way: way) == [way[0]])
        }
    }
}
