// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Gates that set header fields")
struct HeaderGateTests {
    private let transport = MockTransport { _ in .ok() }
    private let failing = MockTransport([
        .any(.status(503), .connectionLost, .ok(text: "done"))
    ])

    private func values(_ name: HTTPHeaders.Name, of transport: MockTransport) -> [String?] {
        transport.sent.map { $0.request.headers[name] }
    }

    // MARK: Idempotency-Key

    @Test("A POST with a key is retried with the same key", arguments: HTTPMethod.keyed)
    func sameKey(method: HTTPMethod) async throws {
        let client = Client(
            failing, [.idempotencyKey(), .retry(backoff: Backoff(base: .zero))])
        _ = try await client.request(method, anywhere, body: .text("x")).serialize(with: Text())
        let keys = values(.idempotencyKey, of: failing)
        #expect(keys.count == 3)
        #expect(Set(keys).count == 1)
        #expect(keys[0]?.wholeMatch(of: uuid) != nil)
    }

    @Test("A key set inside a retry is the same in all attempts")
    func insideRetry() async throws {
        let client = Client(
            failing, [.retry(backoff: Backoff(base: .zero)), .idempotencyKey()])
        _ = try await client.post(anywhere, body: .text("x")).retryable().serialize(with: Text())
        #expect(Set(values(.idempotencyKey, of: failing)).count == 1)
        let other = MockTransport { _ in .status(503) }
        let unmarked = Client(other, [.retry(backoff: Backoff(base: .zero)), .idempotencyKey()])
        _ = try await unmarked.post(anywhere, body: .text("x")).response()
        #expect(other.sentCount == 1)
    }

    @Test("A call marked as not retryable is not retried, even with a key")
    func notRetryable() async throws {
        let client = Client(failing, [.idempotencyKey(), .retry(backoff: Backoff(base: .zero))])
        let call = client.post(anywhere, body: .text("x")).retryable(false)
        #expect(try await call.response().status == 503)
        #expect(failing.sentCount == 1)
        #expect(values(.idempotencyKey, of: failing) != [nil])
    }

    @Test("Each call has its own key, and a seed repeats it")
    func keysPerCall() async throws {
        func keys(seed: UInt64) async throws -> [String?] {
            let transport = MockTransport { _ in .ok() }
            let client = Client(transport, seed: seed, [.idempotencyKey()])
            for _ in 0..<2 { _ = try await client.post(anywhere).response() }
            return values(.idempotencyKey, of: transport)
        }
        let first = try await keys(seed: 7)
        #expect(Set(first).count == 2)
        #expect(try await keys(seed: 7) == first)
        #expect(try await keys(seed: 8) != first)
    }

    @Test("A caller's key stays; other methods get none; the field name can be set")
    func callersKey() async throws {
        let client = Client(
            failing, [.idempotencyKey(header: "X-Key"), .retry(backoff: Backoff(base: .zero))])
        _ = try await client.post(anywhere, headers: ["x-key": "mine"]).serialize(with: Text())
        #expect(values("X-Key", of: failing) == ["mine", "mine", "mine"])
        let plain = Client(transport, [.idempotencyKey()])
        for method in [HTTPMethod.get, .put, .delete, "PURGE"] {
            _ = try await plain.request(method, anywhere).response()
        }
        #expect(values(.idempotencyKey, of: transport) == [nil, nil, nil, nil])
    }

    @Test("Parallel attempts have one key")
    func concurrentAttempts() async throws {
        let twice = Around { request, _, next in
            async let first = next.attempt(request)
            async let second = next.attempt(request)
            _ = try await first
            return try await second
        }
        for seed in 0..<200 {
            let transport = MockTransport { _ in .ok() }
            let client = Client(transport, seed: UInt64(seed), [twice, .idempotencyKey()])
            _ = try await client.post(anywhere).response()
            #expect(Set(values(.idempotencyKey, of: transport)).count == 1)
        }
    }

    // MARK: X-Request-ID

    @Test("The request ID is the same in all attempts, and other gates can read it")
    func requestID() async throws {
        let seen = MemoryLogSink()
        let client = Client(
            failing,
            [
                .retry(backoff: Backoff(base: .zero)), .requestID(),
                Around { request, context, next in
                    seen.write(context[RequestID.Value.self] ?? "none")
                    return try await next(request)
                },
            ])
        _ = try await client.get(anywhere).serialize(with: Text())
        let names = values("X-Request-ID", of: failing)
        #expect(names.count == 3)
        #expect(Set(names).count == 1)
        #expect(names[0]?.wholeMatch(of: uuid) != nil)
        #expect(seen.lines == names)
        let own = Client(transport, [.requestID(header: "Correlation-Id")])
        _ = try await own.get(anywhere, headers: ["Correlation-ID": "mine"]).response()
        #expect(values("Correlation-Id", of: transport) == ["mine"])
    }

    // MARK: Defaults

    @Test("Defaults are set for missing fields, all lines of a name together")
    func defaults() async throws {
        var headers: HTTPHeaders = ["X-A": "1"]
        headers.append("X-A", "2")
        headers.append("X-B", "3")
        let client = Client(transport, [.defaultHeaders(headers, languages: ["de-AT", "en"])])
        _ = try await client.get(anywhere, headers: ["x-b": ""]).response()
        let sent = try #require(transport.sent.first?.request.headers)
        #expect(sent.values(of: "X-A") == ["1", "2"])
        #expect(sent.values(of: "X-B") == [""])
        #expect(sent[.acceptLanguage] == "de-AT;q=1.0, en;q=0.9")
    }

    @Test("At most six languages are sent, and only valid ones")
    func languages() async throws {
        let wanted = ["a b", "en\r\nX: y", "", "*", "a", "b", "c", "d", "e", "f", "überlang"]
        let client = Client(transport, [.defaultHeaders(languages: wanted)])
        _ = try await client.get(anywhere).response()
        #expect(
            values(.acceptLanguage, of: transport) == [
                "*;q=1.0, a;q=0.9, b;q=0.8, c;q=0.7, d;q=0.6, e;q=0.5"
            ])
    }

    @Test(
        "Weights fall by a tenth, without the noise of binary fractions, and never to 0",
        arguments: [
            ("three", ["br", "gzip", "deflate"], "br;q=1.0, gzip;q=0.9, deflate;q=0.8"),
            ("one", ["en"], "en;q=1.0"),
            (
                "seven", (1...7).map { "l\($0)" },
                "l1;q=1.0, l2;q=0.9, l3;q=0.8, l4;q=0.7, l5;q=0.6, l6;q=0.5, l7;q=0.4"
            ),
            (
                "twelve", (1...12).map { "\($0)" },
                "1;q=1.0, 2;q=0.9, 3;q=0.8, 4;q=0.7, 5;q=0.6, 6;q=0.5, 7;q=0.4, 8;q=0.3,"
                    + " 9;q=0.2, 10;q=0.1, 11;q=0.1, 12;q=0.1"
            ),
        ] as [(String, [String], String)])
    func weights(id: String, choices: [String], expected: String) {
        #expect(DefaultHeaders.weighted(choices) == expected)
    }

    @Test("A default that is not a valid field fails the call and names the field")
    func badDefault() async throws {
        let client = Client(transport, [.defaultHeaders(["X-A": "s3cret\r\nX-B: 1"])])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .invalidRequest)
        #expect("\(error as Any)".contains("X-A"))
        #expect(!"\(error as Any)".contains("s3cret"))
    }

    // MARK: User-Agent

    @Test("The User-Agent describes the program, unless the caller sets one")
    func userAgent() async throws {
        let client = Client(transport, [.userAgent()])
        _ = try await client.get(anywhere).response()
        _ = try await client.get(anywhere, headers: ["User-Agent": "me/1"]).response()
        let named = Client(transport, [.userAgent("shop/2")])
        _ = try await named.get(anywhere).response()
        let sent = values(.userAgent, of: transport)
        let form =
            /[!-~]+\/[!-~]+ \([!-~]+; build:[!-~]+; \w+ \d+\.\d+\.\d+\) Turnpike\/\d+\.\d+\.\d+/
        #expect(sent[0]?.wholeMatch(of: form) != nil, "\(sent[0] ?? "")")
        #expect(Array(sent.dropFirst()) == ["me/1", "shop/2"])
    }

    @Test("The parts of a User-Agent are in order, with Unknown for a missing one")
    func userAgentParts() {
        let known = UserAgent.describe(
            program: "Demo", version: "1.0", bundle: "com.demo.Demo", build: "1",
            system: "iOS 13.0.0")
        #expect(known.hasPrefix("Demo/1.0 (com.demo.Demo; build:1; iOS 13.0.0) Turnpike/"))
        let unknown = UserAgent.describe(
            program: nil, version: "", bundle: nil, build: nil, system: "Linux (6\\)")
        #expect(unknown.hasPrefix("Unknown/Unknown (Unknown; build:Unknown; Linux 6) Turnpike/"))
    }

    // MARK: Base URL

    @Test("Relative targets are resolved by the gate, absolute ones are not")
    func baseURL() async throws {
        let client = Client(transport, [.baseURL("http://b.example/v1"), .validate()])
        for target: Target in ["users/1", "/root", "", "http://a.example/x"] {
            _ = try await client.get(target, query: ["q": "1"]).response()
        }
        #expect(
            transport.sent.map { $0.request.url.absoluteString } == [
                "http://b.example/v1/users/1?q=1", "http://b.example/root?q=1",
                "http://b.example/v1?q=1", "http://a.example/x?q=1",
            ])
    }

    @Test("The base URL may come from a closure, and a mistake in it is reported")
    func changingBaseURL() async throws {
        let bases = Countdown(1)
        let client = Client(
            transport, [.baseURL { bases.takeOne() ? "http://one.example" : "http://two.example" }])
        for _ in 0..<2 { _ = try await client.get("x").response() }
        #expect(transport.sent.map { $0.request.url.host() } == ["one.example", "two.example"])
        for bad: Target in ["nowhere", "ftp://a.example", "http://u:s3cret@a.example", "//b", ""] {
            let client = Client(transport, [.baseURL(bad)])
            let error = await #expect(throws: ClientError.self) {
                try await client.get("x").response()
            }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains("base URL") == true)
            #expect(!"\(error as Any)".contains("s3cret"))
        }
        for bad: Target in ["//c.example/x", "a\u{0}b", "%zz"] {
            let client = Client(transport, [.baseURL("http://b.example")])
            #expect(await code(of: client.get(bad)) == .invalidRequest)
        }
        #expect(transport.sentCount == 2)
    }
}

private var uuid: Regex<Substring> {
    /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
}

extension HTTPMethod {
    fileprivate static let keyed: [HTTPMethod] = [.post, .patch]
}
