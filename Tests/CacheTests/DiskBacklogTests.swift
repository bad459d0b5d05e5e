// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("A DiskStore writes in the background")
struct DiskBacklogTests {
    private let folder = TemporaryFolder()
    private let key = CacheKey(url: "http://a.example/")

    // It writes where it must or is told to, and never by itself.
    private func store(maxBacklog: Int = 8 << 20) -> DiskStore {
        DiskStore(
            directory: folder.path, maxBytes: 64 << 20, writingAfter: nil, maxBacklog: maxBacklog)
    }

    private func put(
        _ store: DiskStore, _ name: String, _ data: Data = Data("content".utf8),
        key: CacheKey? = nil
    ) async throws {
        let response = DiskStoreTests.response(key ?? self.key, name)
        let writer = try #require(try await store.writer(for: response, length: nil))
        try await writer.write(data)
        try await writer.commit()
    }

    private func find(_ store: DiskStore, _ key: CacheKey? = nil) async throws -> CacheEntry? {
        try await store.entry(for: key ?? self.key) { _ in true }
    }

    private func name(_ store: DiskStore, _ key: CacheKey? = nil) async throws -> String? {
        try await find(store, key)?.response.head.headers["X-Name"]
    }

    @Test("An entry is found before and after it is written, also by other processes")
    func readingBehind() async throws {
        let store = store()
        try await put(store, "one")
        #expect(store.waiting == 1)
        #expect(folder.entries.isEmpty)
        let entry = try #require(try await find(store))
        #expect(try await entry.content.body(0..<7).collect(upTo: 10) == Data("content".utf8))
        #expect(try await store.entry(for: key) { _ in false } == nil)
        #expect(store.waiting == 1)
        await store.flush()
        #expect(store.waiting == 0)
        #expect(folder.entries.count == 1)
        #expect(try await name(store) == "one")
        #expect(try await name(self.store()) == "one")
    }

    @Test("The entry that was stored last is found")
    func replacing() async throws {
        let store = store()
        try await put(store, "one")
        try await put(store, "two")
        #expect(try await name(store) == "two")
        await store.flush()
        #expect(try await name(store) == "two")
        try await put(store, "three")
        #expect(try await name(store) == "three")
    }

    @Test("A removal wins over an entry that waits, and a later entry is found")
    func removal() async throws {
        let store = store()
        try await put(store, "one")
        try await store.remove(key)
        #expect(try await find(store) == nil)
        try await put(store, "two")
        #expect(try await name(store) == "two")
        try await store.remove(key)
        await store.flush()
        #expect(try await find(store) == nil)
        #expect(folder.entries.isEmpty)
        try await store.remove(key)
        try await put(store, "three")
        await store.flush()
        #expect(try await name(store) == "three")
    }

    @Test("A purge counts and removes entries that wait to be written")
    func purge() async throws {
        let store = store()
        try await put(store, "one")
        #expect(try await store.removeAll { $0.head.headers["X-Name"] == "one" } == 1)
        #expect(try await find(store) == nil)
        try await put(store, "two")
        #expect(try await store.list().count == 1)
    }

    @Test("A new head is found at once, unless its entry was removed")
    func updating() async throws {
        let store = store()
        try await put(store, "one")
        let entry = try #require(try await find(store))
        try await store.update(entry, to: DiskStoreTests.response(key, "two"))
        #expect(try await name(store) == "two")
        let second = try #require(try await find(store))
        try await store.remove(key)
        try await store.update(second, to: DiskStoreTests.response(key, "three"))
        #expect(try await find(store) == nil)
    }

    @Test("Large content is written when it is looked up")
    func large() async throws {
        let store = store()
        let data = Data((0..<700_001).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        try await put(store, "large", data)
        let entry = try #require(try await find(store))
        #expect(try await entry.content.body(0..<700_001).collect(upTo: 1 << 20) == data)
        #expect(store.waiting == 0)
    }

    @Test("An entry that the backlog has no room for is not stored, and removes the old one")
    func full() async throws {
        let store = store(maxBacklog: 40_000)
        let other = CacheKey(url: "http://a.example/other")
        try await put(store, "old")
        await store.flush()
        // A quarter of the backlog is written at once: it waits behind this.
        let (isBlocked, ends) = (Gate(), Gate())
        async let blocker: Void = store.besideWrites { _ in
            isBlocked.open()
            ends.wait()
        }
        await isBlocked.opened()
        try await put(store, "other", Data(count: 30_000), key: other)
        #expect(store.waiting == 1)
        try await put(store, "new", Data(count: 30_000))
        #expect(try await find(store) == nil)
        #expect(try await name(store, other) == "other")
        try await put(store, "none", Data(count: 30_000), key: CacheKey(url: "http://b.example/"))
        ends.open()
        try await blocker
        await store.flush()
        #expect(try await find(store) == nil)
        #expect(try await name(store, other) == "other")
        #expect(try await find(store, CacheKey(url: "http://b.example/")) == nil)
        try await put(store, "again")
        #expect(try await name(store) == "again")
    }

    @Test("A shutdown writes the entries that wait; an unsafe method still removes them")
    func shutdown() async throws {
        let answer: @Sendable (Request) -> MockResponse = { _ in
            .ok(text: "one", headers: ["Cache-Control": "max-age=60"])
        }
        let first = CachedClient(store(), answer)
        _ = try await first.get("/a")
        _ = try await first.get("/b")
        #expect(folder.entries.isEmpty)
        _ = try await first.send(.post, "/b")
        #expect(try await first.get("/a").status?.contains("hit") == true)
        await first.client.shutdown()
        #expect(folder.entries.count == 1)
        let second = CachedClient(store(), answer)
        #expect(try await second.get("/a").status?.contains("hit") == true)
        #expect(try await second.get("/b").status?.contains("fwd=uri-miss") == true)
    }

    @Test("A removal by another process wins over responses requested before it")
    func removalByAnother() async throws {
        let (one, two) = (store(), store())
        for store in [one, two] { _ = try await store.list() }
        let untouched = CacheKey(url: "http://a.example/untouched")
        for store in [one, two] { try await store.remove(untouched) }
        for store in [one, two] { await store.flush() }
        try await put(one, "one")
        try await put(one, "one", key: untouched)
        try await two.remove(key)
        await two.flush()
        await one.flush()
        #expect(try await find(one) == nil)
        #expect(try await find(two) == nil)
        #expect(try await name(two, untouched) == "one")
        try await put(one, "new")
        try await put(one, "large", Data(count: 400_000), key: untouched)
        try await two.removeAll { _ in true }
        await one.flush()
        #expect(try await two.list().isEmpty)
        #expect(folder.items.filter { $0.contains("/v2/tmp/") }.isEmpty)
        try await put(one, "last")
        await one.flush()
        #expect(try await name(two) == "last")
    }

    @Test("Entries of another process are found; a lost index loses its entries and nothing else")
    func index() async throws {
        let (one, two) = (store(), store())
        _ = try await two.list()
        #expect(try await find(two) == nil)
        try await put(one, "one")
        await one.flush()
        #expect(try await name(two) == "one")
        #expect(try await name(store()) == "one")
        try Data().write(to: URL(filePath: folder.path + "/v2/index"))
        #expect(try await name(store()) == nil)
        let three = store()
        try await put(three, "three")
        await three.flush()
        #expect(folder.entries.count == 1)
        #expect(try await name(three) == "three")
        #expect(try await name(store()) == "three")
    }
}

/// Something that one thread opens and another one waits for.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() { semaphore.signal() }

    /// Blocks the thread.
    func wait() { semaphore.wait() }

    func opened() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [self] in
                wait()
                continuation.resume()
            }
        }
    }
}
