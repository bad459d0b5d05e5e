// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("A damaged entry of a cache")
struct DamagedEntryTests {
    private let folder = TemporaryFolder()
    private let clock = ManualClock()
    private static let size = 600_000

    private func text(_ letter: Character) -> String { String(repeating: letter, count: Self.size) }

    /// A client whose origin gives another text each time.
    private func client(
        _ fields: HTTPHeaders = ["Cache-Control": "max-age=60"],
        answering: @escaping @Sendable (Request, Int) throws -> MockResponse? = { _, _ in nil }
    ) -> CachedClient {
        let count = Tally()
        let store = DiskStore(directory: folder.path, maxBytes: 64 << 20, writingAfter: nil)
        return CachedClient(store, clock: clock) { [texts = [text("a"), text("b"), text("c")]] in
            let number = count.add()
            if let other = try answering($0, number) { return other }
            return .ok(text: texts[min(number, 3) - 1], headers: fields)
        }
    }

    // Fills the cache, and damages the content at a position from its end.
    private func damage(
        _ position: Int, _ cached: CachedClient, of letter: Character = "a"
    ) async throws {
        #expect(try await cached.get("/").text == text(letter))
        _ = try await cached.cache.list()
        let file = try #require(folder.entries.first)
        let handle = try FileHandle(forUpdating: URL(filePath: file))
        let end = try handle.seekToEnd()
        try handle.seek(toOffset: end - UInt64(position))
        try handle.write(contentsOf: Data("!".utf8))
        try handle.close()
    }

    private static let begin = size - 1000
    private static let late = 1000

    @Test("Damage at the beginning of an entry is a miss, and the new response replaces the entry")
    func miss() async throws {
        let cached = client()
        try await damage(Self.begin, cached)
        let answer = try await cached.get("/")
        #expect(answer.text == text("b"))
        #expect(answer.status == "Turnpike;fwd=uri-miss;stored")
        _ = try await cached.cache.list()
        #expect(try await cached.get("/").text == text("b"))
        #expect(cached.sent == 2 && cached.cache.statistics.hits == 1)
        await cached.client.shutdown()
    }

    @Test("A range of a damaged entry is a miss, and only-if-cached finds nothing")
    func parts() async throws {
        let cached = client()
        try await damage(Self.begin, cached)
        let only = try await cached.get("/", ["Cache-Control": "only-if-cached"])
        #expect(only.code == 504)
        try await damage(Self.begin, cached, of: "b")
        #expect(try await cached.get("/", ["Range": "bytes=990-1010"]).text == text("c"))
        #expect(cached.sent == 3)
        await cached.client.shutdown()
    }

    @Test("Damage after the first bytes fails the body, and the entry is a miss from then on")
    func late() async throws {
        let cached = client()
        try await damage(Self.late, cached)
        let error = await #expect(throws: ClientError.self) { try await cached.get("/") }
        #expect(error?.code == .incomplete)
        #expect(try await cached.get("/").text == text("b"))
        await cached.client.shutdown()
    }

    @Test(
        "A damaged entry that its origin confirms is requested again completely",
        arguments: [begin, 300_000])
    func validated(position: Int) async throws {
        let fields: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
        let cached = client(fields) { request, _ in
            request.headers[.ifNoneMatch] == "\"1\"" ? .status(304, headers: fields) : nil
        }
        try await damage(position, cached)
        clock.advance(by: .seconds(61))
        guard position == Self.begin else {
            // What lies behind the first bytes is found later.
            await expectError(.incomplete) { try await cached.get("/") }
            return await cached.client.shutdown()
        }
        let answer = try await cached.get("/")
        #expect(answer.text == text("c"))
        #expect(
            cached.transport.sent.map { $0.request.headers[.ifNoneMatch] } == [nil, "\"1\"", nil])
        await cached.client.shutdown()
    }

    @Test("It is not served instead of an error", arguments: [true, false])
    func standIn(isRefused: Bool) async throws {
        let fields: HTTPHeaders = ["Cache-Control": "max-age=60, stale-if-error=900"]
        let cached = client(fields) { _, number in
            if number == 1 { return nil }
            return isRefused ? .connectionRefused : .status(503)
        }
        try await damage(Self.begin, cached)
        clock.advance(by: .seconds(61))
        if isRefused {
            let error = await #expect(throws: ClientError.self) { try await cached.get("/") }
            #expect(error?.code == .connection)
        } else {
            #expect(try await cached.get("/").code == 503)
        }
        await cached.client.shutdown()
    }

    @Test("A damaged entry that could be served stale is requested in the foreground")
    func staleWhileRevalidate() async throws {
        let cached = client(["Cache-Control": "max-age=60, stale-while-revalidate=900"])
        try await damage(Self.begin, cached)
        clock.advance(by: .seconds(61))
        #expect(try await cached.get("/").text == text("b"))
        #expect(cached.sent == 2)
        await cached.client.shutdown()
    }
}

@Suite("A cache and a clock that was wrong")
struct CacheClockTests {
    private let folder = TemporaryFolder()
    private static let ahead = Date(timeIntervalSince1970: 1_750_000_000)
    private static let present = Date(timeIntervalSince1970: 1_718_000_000)

    private func client(_ store: any CacheStore, at date: Date, _ text: String) -> CachedClient {
        CachedClient(store, clock: ManualClock(date: date)) { request in
            if request.headers[.ifNoneMatch] == "\"1\"" { return .status(304) }
            return .ok(
                text: text,
                headers: [
                    "Cache-Control": "max-age=600, stale-while-revalidate=600, stale-if-error=600",
                    "ETag": "\"1\"", "Vary": "Accept",
                ])
        }
    }

    private func stores() -> [any CacheStore] {
        let disk = { DiskStore(directory: folder.path, maxBytes: 8 << 20, writingAfter: nil) }
        return [MemoryStore(), disk(), TieredStore(MemoryStore(), disk())]
    }

    @Test(
        "An entry from the future is stale and not served stale until it is confirmed")
    func future() async throws {
        for store in stores() {
            let before = client(store, at: Self.ahead, "one")
            #expect(try await before.get("/").text == "one")
            let listing = try #require(try await before.cache.list().first?.response)
            #expect(listing.timeLeft(at: Self.present) < .zero)
            #expect(listing.age(at: Self.present) > .seconds(86_400 * 365))
            let after = client(store, at: Self.present, "two")
            #expect(try await after.get("/", ["Cache-Control": "max-stale"]).text == "one")
            #expect(after.transport.sent.last?.request.headers[.ifNoneMatch] == "\"1\"")
            #expect(after.sent == 1)
            #expect(try await after.get("/").status?.hasPrefix("Turnpike;hit") == true)
            #expect(after.sent == 1)
            _ = try await after.cache.purge { _ in true }
        }
    }

    @Test("It is not served instead of an error")
    func errors() async throws {
        for store in stores() {
            _ = try await client(store, at: Self.ahead, "one").get("/")
            let after = CachedClient(store, clock: ManualClock(date: Self.present)) { _ in
                .connectionRefused
            }
            await expectError(.connection) { try await after.get("/") }
            _ = try await after.cache.purge { _ in true }
        }
    }

    @Test("An entry from the future does not hide a newer response")
    func hidden() async throws {
        for store in stores() {
            let before = client(store, at: Self.ahead, "one")
            _ = try await before.get("/", ["Accept": "a"])
            // Another variant, which fits the same requests.
            let after = CachedClient(store, clock: ManualClock(date: Self.present)) { _ in
                .ok(text: "two", headers: ["Cache-Control": "max-age=600"])
            }
            for _ in 0..<3 { #expect(try await after.get("/", ["Accept": "a"]).text == "two") }
            #expect(after.sent == 1)
            _ = try await after.cache.purge { _ in true }
        }
    }

    @Test("A file with a time of use in the future is removed first")
    func room() async throws {
        let store = DiskStore(directory: folder.path, maxBytes: 400_000, writingAfter: nil)
        func put(_ number: Int) async throws {
            let key = CacheKey(url: "http://a.example/\(number)")
            let writer = try #require(
                try await store.writer(for: DiskStoreTests.response(key, "x"), length: nil))
            try await writer.write(Data(count: 40_000))
            try await writer.commit()
            await store.flush()
        }
        try await put(0)
        let future = Date(timeIntervalSinceNow: 86_400 * 365)
        let file = try #require(folder.entries.first)
        try FileManager.default.setAttributes([.modificationDate: future], ofItemAtPath: file)
        for number in 1..<12 { try await put(number) }
        #expect(!folder.entries.contains(file))
        let newest = CacheKey(url: "http://a.example/11")
        #expect(try await store.entry(for: newest) { _ in true } != nil)
    }
}

@Suite("Cache-Status says stored only for stored responses")
struct StoredStatusTests {
    private func isStored(_ cached: CachedClient) async throws -> Bool {
        try await cached.get("/").status?.hasSuffix(";stored") == true
    }

    @Test("A response that the store accepts is marked as stored", arguments: [true, false])
    func taken(isEmpty: Bool) async throws {
        let cached = CachedClient { _ in
            .ok(text: isEmpty ? "" : "x", headers: ["Cache-Control": "max-age=60"])
        }
        #expect(try await isStored(cached))
        #expect(cached.cache.statistics.stored == 1)
    }

    @Test("A response that the store rejects before its end is not marked")
    func notKept() async throws {
        let store = FailingStore()
        store.fail()
        let cached = CachedClient(store) { _ in .ok(headers: ["Cache-Control": "max-age=60"]) }
        #expect(try await !isStored(cached))
        let none = CachedClient(MemoryStore(maxBytes: 0)) { _ in
            .stream([Data("x".utf8)], headers: ["Cache-Control": "max-age=60"])
        }
        #expect(try await !isStored(none))
    }

    @Test("A response that was invalidated while it arrived is not marked")
    func changed() async throws {
        let box = Mutex<Cache?>(nil)
        let cached = CachedClient { request in
            let cache = box.withLock { $0 }
            _ = try await cache?.purge(request.url)
            return .ok(text: "x", headers: ["Cache-Control": "max-age=60"])
        }
        box.withLock { $0 = cached.cache }
        #expect(try await !isStored(cached))
    }

    @Test("A response that a slow disk would drop is not marked")
    func backlog() async throws {
        let folder = TemporaryFolder()
        let store = DiskStore(
            directory: folder.path, maxBytes: 8 << 20, writingAfter: nil, maxBacklog: 1000)
        let cached = CachedClient(store) { _ in
            .ok(text: String(repeating: "x", count: 700), headers: ["Cache-Control": "max-age=60"])
        }
        _ = try await store.list()
        let hold = DispatchSemaphore(value: 0)
        #expect(try await cached.get("/other").code == 200)
        await store.flush()
        // It takes more than may wait, and time.
        let long = "http://b.example/\(String(repeating: "b", count: 900))"
        store.behind(CacheKey(url: long)) { _ in hold.wait() }
        #expect(try await !isStored(cached))
        hold.signal()
        await cached.client.shutdown()
    }
}
