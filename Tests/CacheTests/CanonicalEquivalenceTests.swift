// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore

/// Texts that look the same and are not: one scalar, and a letter with a mark behind it.
@Suite("A cache compares bytes, not the look of texts")
struct CanonicalEquivalenceTests {
    @Test("A field that Vary names is compared byte by byte")
    func variants() async throws {
        let cached = CachedClient { request in
            .ok(
                text: request.headers["X-User"] ?? "none",
                headers: ["Cache-Control": "max-age=60", "Vary": "X-User"])
        }
        for value in ["Jos\u{E9}", "Jose\u{301}", "Jos\u{E9}"] {
            let text = try await cached.get("/a", ["X-User": value]).text
            #expect(text.utf8.elementsEqual(value.utf8))
        }
        #expect(cached.sent == 2)
    }

    @Test("An entity tag is compared byte by byte")
    func tags() async throws {
        let cached = CachedClient { _ in
            .ok(text: "x", headers: ["Cache-Control": "max-age=60", "ETag": "\"\u{E9}\""])
        }
        _ = try await cached.get("/a")
        #expect(try await cached.get("/a", [.ifNoneMatch: "\"\u{E9}\""]).code == 304)
        #expect(try await cached.get("/a", [.ifNoneMatch: "\"e\u{301}\""]).code == 200)
        #expect(try await cached.get("/a", [.ifNoneMatch: "W/\"\u{E9}\""]).code == 304)
    }

    @Test("A 304 with another tag confirms nothing")
    func confirmation() async throws {
        let cached = CachedClient { request in
            request.headers.contains(.ifNoneMatch)
                ? .status(304, headers: ["ETag": "\"e\u{301}\"", "X-New": "1"])
                : .ok(text: "x", headers: ["Cache-Control": "no-cache", "ETag": "\"\u{E9}\""])
        }
        _ = try await cached.get("/a")
        let again = try await cached.get("/a")
        #expect(again.text == "x")
        #expect(again.headers["X-New"] == nil)
    }

    @Test("A key's URL, and a variant's value, are compared byte by byte")
    func keys() {
        let urls = ["http://a.example/\u{E9}", "http://a.example/e\u{301}"]
        #expect(Set(urls.map { CacheKey(url: $0) }).count == 2)
        #expect(Set(urls.map { CacheKey(url: "http://a.example/", partition: $0) }).count == 2)
        #expect(Set(urls.map { Variant.Field(name: "x", value: $0) }).count == 2)
        #expect(Variant.Field(name: "x", value: nil) != Variant.Field(name: "x", value: ""))
    }
}
