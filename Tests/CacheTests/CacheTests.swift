// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSerializers

@Suite("Cache")
struct CacheTests {
    @Test(arguments: InterceptorConformance.checks)
    func conforms(_ check: InterceptorConformance.Check) async throws {
        try await check.run(on: Cache())
    }

    @Test("A fresh response is served again with Age and Cache-Status")
    func hit() async throws {
        let cached = CachedClient { _ in .ok(text: "one", headers: ["Cache-Control": "max-age=60"])
        }
        let first = try await cached.get("/a")
        #expect(first.status == "Turnpike;fwd=uri-miss;stored")
        cached.clock.advance(by: .seconds(20))
        let second = try await cached.get("/a")
        #expect(second.text == "one")
        #expect(second.headers[.age] == "20")
        #expect(second.status == "Turnpike;hit;ttl=40")
        #expect(cached.sent == 1)
        cached.clock.advance(by: .seconds(40))
        #expect(try await cached.get("/a").status == "Turnpike;fwd=stale;fwd-status=200;stored")
        #expect(cached.sent == 2)
        let counts = cached.cache.statistics
        #expect(counts.hits == 1 && counts.misses == 1 && counts.renewed == 1)
        #expect(counts.stored == 2 && counts.usage.entries == 1)
    }

    @Test("Trailer fields reach the reader whose response is being stored, and no later reader")
    func trailers() async throws {
        let cached = CachedClient { _ in
            .ok(text: "one", headers: ["Cache-Control": "max-age=60"])
                .followed(by: ["X-Sum": "1", "Cache-Control": "no-store"])
        }
        for wanted: HTTPHeaders in [["X-Sum": "1"], [:]] {
            let response = try await cached.client.get("http://a.example/").response()
            #expect(try await response.body.collect(upTo: 10) == Data("one".utf8))
            #expect(response.trailers == wanted)
            #expect(response.headers["X-Sum"] == nil)
        }
        #expect(cached.sent == 1)
    }

    @Test(
        "Keys differ exactly if the requests differ",
        arguments: [
            ("http://a.example/x", "HTTP://A.EXAMPLE:80/x#part", true),
            ("https://a.example", "https://a.example:443/", true),
            ("http://a.example/x", "https://a.example/x", false),
            ("http://a.example/x", "http://a.example:8080/x", false),
            ("http://a.example/x", "http://a.example/X", false),
            ("http://a.example/x?a=1&b=2", "http://a.example/x?b=2&a=1", false),
            ("http://a.example/%7Ex", "http://a.example/~x", false),
        ])
    func keys(left: String, right: String, areEqual: Bool) throws {
        let left = try #require(URL(string: left).flatMap { CacheKey($0) })
        let right = try #require(URL(string: right).flatMap { CacheKey($0) })
        #expect((left == right) == areEqual)
    }

    @Test("A credential finds only the responses that were stored for it")
    func partitions() async throws {
        let cached = CachedClient { request in
            .ok(
                text: request.headers[.authorization] ?? "nobody",
                headers: ["Cache-Control": "private, max-age=60"])
        }
        for _ in 0..<2 {
            #expect(try await cached.get("/a").text == "nobody")
            for name in ["Bearer one", "Bearer two"] {
                #expect(try await cached.get("/a", [.authorization: name]).text == name)
            }
        }
        #expect(cached.sent == 3)
        for listing in try await cached.cache.list() {
            #expect(!"\(listing.response)".contains("Bearer"))
        }
    }

    @Test("A body that was cut off, dropped or of the wrong length is not stored")
    func onlyWhole() async throws {
        let cached = CachedClient { request in
            switch request.url.path() {
            case "/cut": .cut(after: Data("half".utf8), of: 8, headers: Self.fresh)
            default: .stream([Data("half".utf8), Data("half".utf8)], headers: Self.fresh)
            }
        }
        await expectError(.incomplete) { _ = try await cached.get("/cut") }
        let dropped = try await cached.client.get("http://a.example/dropped").response()
        for try await _ in dropped.body { break }
        #expect(try await cached.cache.list().isEmpty)
        _ = try await cached.get("/whole")
        #expect(try await cached.cache.list().map(\.length) == [8])

        let cache = Cache()
        let transport = LengthTransport(chunks: [Data("half".utf8)], length: 8)
        let client = Client(transport: transport, stack: [cache], serializers: SerializerTable())
        _ = try await client.get("http://a.example/").response().body.collect(upTo: 100)
        #expect(try await cache.list().isEmpty)
    }

    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]
}
