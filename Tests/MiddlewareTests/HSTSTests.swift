// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("HSTS")
struct HSTSTests {
    private let clock = ManualClock()
    private let store = HSTSStore()

    private func transport(_ line: String) -> MockTransport {
        MockTransport { _ in .status(200, headers: ["Strict-Transport-Security": line]) }
    }

    private func target(_ transport: MockTransport, _ url: String) async throws -> String? {
        let client = Client(transport, clock: clock, [.hsts(store)])
        return try await client.get(Target(url)).response().url.absoluteString
    }

    @Test("A host that sent the field over TLS gets only https")
    func upgrade() async throws {
        let transport = transport("max-age=100")
        #expect(try await target(transport, "http://a.example/x") == "http://a.example/x")
        #expect(store.hosts.isEmpty)
        _ = try await target(transport, "https://a.example/x")
        #expect(
            try await target(transport, "http://A.example./x?q#f") == "https://A.example./x?q#f")
        #expect(try await target(transport, "http://a.example:80/x") == "https://a.example/x")
        #expect(
            try await target(transport, "http://a.example:8080/x") == "https://a.example:8080/x")
        #expect(try await target(transport, "http://www.a.example/x") == "http://www.a.example/x")
        #expect(try await target(transport, "http://example/x") == "http://example/x")
    }

    @Test("Subdomains, expiry and revocation")
    func life() async throws {
        let below = transport("max-age=100; includeSubDomains")
        _ = try await target(below, "https://a.example/")
        #expect(store.requiresTLS("x.y.a.example", at: clock.date))
        #expect(!store.requiresTLS("ba.example", at: clock.date))
        clock.advance(by: .seconds(100))
        #expect(!store.requiresTLS("a.example", at: clock.date))
        _ = try await target(below, "https://a.example/")
        _ = try await target(transport("max-age=0"), "https://a.example/")
        #expect(store.hosts.isEmpty)
    }

    @Test("The field of a stored response is ignored")
    func stored() async throws {
        let cache = Around { request, _, next in
            var head = try await next(request).head
            head.isStored = true
            return Response(head: head, body: .empty)
        }
        let client = Client(
            transport("max-age=100; includeSubDomains"), clock: clock, [.hsts(store), cache])
        _ = try await client.get("https://a.example/").response()
        #expect(store.hosts.isEmpty)
    }

    @Test(
        "An IP address is never stored", arguments: ["127.0.0.1", "0x7f000001", "[2606:4700::1]"])
    func addresses(host: String) async throws {
        _ = try await target(transport("max-age=100"), "https://\(host)/")
        #expect(store.hosts.isEmpty)
    }

    @Test(
        "Field lines are parsed by RFC 6797",
        arguments: [
            ("max-age=31536000", 31_536_000, false), ("MAX-AGE=\"1\" ; IncludeSubDomains", 1, true),
            (" ; max-age=1;; foo; bar=\"x;y\" ", 1, false), ("max-age=0", 0, false),
            ("max-age=99999999999999999999", 316_224_000, false),
            ("max-age=1, max-age=2", 1, false),
        ] as [(String, Int64, Bool)])
    func lines(text: String, maxAge: Int64, subdomains: Bool) throws {
        let policy = try #require(HSTSPolicy(text))
        #expect(policy.maxAge == maxAge)
        #expect(policy.includesSubdomains == subdomains)
    }

    @Test(
        "Lines that break the rules are ignored",
        arguments: [
            "", "includeSubDomains", "max-age", "max-age=", "max-age=-1", "max-age=1x",
            "max-age=\"1",
            "max-age=1; max-age=1", "max-age=1; includeSubDomains=1", "max-age=1; a b",
            "max-age=1; includeSubDomains; includesubdomains", "max-age=+1",
        ])
    func broken(text: String) { #expect(HSTSPolicy(text) == nil) }

    @Test("No line traps the parser")
    func noise() async throws {
        let pieces = [
            "max-age", "=", ";", "\"", "1", "9999999999", "includeSubDomains", ",", " ", "\\",
        ]
        try await forAllSeeds { generator in
            let text = generator.noise(pieces)
            guard let policy = HSTSPolicy(text) else { return nil }
            return policy.maxAge >= 0 ? nil : text
        }
    }

    @Test("A redirect to http of such a host is followed as https, with its credentials")
    func redirect() async throws {
        let transport = MockTransport { request in
            request.url.path() == "/x"
                ? .status(302, headers: ["Location": "http://a.example/y"])
                : .ok(text: request.headers[.authorization] ?? "-")
        }
        store.insert("a.example", until: .distantFuture, includesSubdomains: false)
        for begin in ["http://a.example/x", "https://a.example/x"] {
            let client = Client(transport, clock: clock, [.redirect(), .hsts(store)])
            let call = client.get(Target(begin), headers: ["Authorization": "s"])
            #expect(try await call.serialize(with: Text()) == "s")
            #expect(transport.sent.last?.request.url.absoluteString == "https://a.example/y")
        }
        let other = HSTSStore()
        let client = Client(transport, clock: clock, [.redirect(), .hsts(other)])
        #expect(await code(of: client.get("https://a.example/x")) == .redirect)
    }

    @Test("The store is bounded; hosts that expire first are removed first")
    func bounds() {
        for number in 0..<HSTSStore.maxHosts + 100 {
            store.insert(
                "h\(number).example", until: clock.date.addingTimeInterval(Double(number + 10)),
                includesSubdomains: false)
        }
        #expect(store.hosts.count <= HSTSStore.maxHosts)
        #expect(store.requiresTLS("h\(HSTSStore.maxHosts + 99).example", at: clock.date))
        #expect(!store.requiresTLS("h0.example", at: clock.date))
    }
}

@Suite("HSTS concurrency")
struct HSTSConcurrencyTests {
    @Test("A store that many calls use at once keeps every host")
    func storm() async {
        let store = HSTSStore()
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    store.store("max-age=100", from: "h\(number % 100).example", at: date)
                    _ = store.requiresTLS("h\(number % 50).example", at: date)
                }
            }
        }
        #expect(store.hosts.count == 100)
    }
}
