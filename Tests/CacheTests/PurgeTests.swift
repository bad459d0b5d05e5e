// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("Purging a cache")
struct PurgeTests {
    private let key = CacheKey(url: "http://a.example/")

    private func put(_ store: some CacheStore) async throws {
        let response = DiskStoreTests.response(key, "one")
        let writer = try #require(try await store.writer(for: response, length: nil))
        try await writer.write(Data("content".utf8))
        try await writer.commit()
    }

    @Test("An entry that a look-up finds in the back during a purge does not stay in the front")
    func tiers() async throws {
        let (front, back) = (MemoryStore(), HeldStore())
        let store = TieredStore(front, back)
        try await put(back)
        async let count = store.removeAll { _ in true }
        try await back.hasBegun.value {}
        #expect(try await store.entry(for: key) { _ in true } != nil)
        back.mayEnd.settle(.success(()))
        #expect(try await count == 1)
        #expect(try await store.entry(for: key) { _ in true } == nil)
        #expect(front.usage.entries == 0)
    }

    @Test("A body that is read during a purge is not stored, unless the purge is for another URL")
    func recording() async throws {
        let cached = CachedClient { _ in
            .ok(text: "one", headers: ["Cache-Control": "max-age=60"])
        }
        let first = try await cached.client.get("http://a.example/a").response()
        let second = try await cached.client.get("http://a.example/b").response()
        let url = try #require(URL(string: "http://a.example/a"))
        #expect(try await cached.cache.purge(url) == 0)
        for response in [first, second] { _ = try await response.body.collect(upTo: 100) }
        #expect(try await cached.get("/a").status?.contains("fwd=uri-miss") == true)
        #expect(try await cached.get("/b").status?.contains("hit") == true)
        let third = try await cached.client.get("http://a.example/c").response()
        #expect(try await cached.cache.purge { _ in true } == 2)
        _ = try await third.body.collect(upTo: 100)
        #expect(try await cached.get("/c").status?.contains("fwd=uri-miss") == true)
    }
}

/// A store whose purge waits until it may go on.
private final class HeldStore: StoreInMemory {
    let store = MemoryStore()
    let hasBegun = OneShot<Void>()
    let mayEnd = OneShot<Void>()

    func removeAll(
        where condition: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> Int {
        hasBegun.settle(.success(()))
        try await mayEnd.value {}
        return try await store.removeAll(where: condition)
    }
}
