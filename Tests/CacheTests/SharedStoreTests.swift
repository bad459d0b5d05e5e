// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("A store that replicas share")
struct SharedStoreTests {
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=31536000"]

    // Replicas of one service, with 50 callers each.
    private func stampede(
        _ clients: [CachedClient], _ headers: HTTPHeaders = [:]
    ) async throws -> [CachedClient.Answer] {
        try await withThrowingTaskGroup(of: CachedClient.Answer.self) { group in
            for client in clients {
                for _ in 0..<50 { group.addTask { try await client.get("/a", headers) } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func replicas(
        _ store: SharedFake, _ answer: @escaping @Sendable (Request) async throws -> MockResponse
    ) -> [CachedClient] {
        // The clocks run while the callers wait: nothing must become stale meanwhile.
        let clock = ManualClock()
        return (0..<4).map { _ in CachedClient(store, clock: clock, answer) }
    }

    private func sends(of clients: [CachedClient]) -> Int { clients.map(\.sent).reduce(0, +) }

    // Lets the callers look again while some task runs.
    private func advancing<Value: Sendable>(
        _ clients: [CachedClient], by step: Duration = .milliseconds(20),
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let isDone = Atomic(false)
        async let value = {
            defer { isDone.store(true, ordering: .relaxed) }
            return try await operation()
        }()
        try await until("the callers have ended") {
            clients[0].clock.advance(by: step)
            return isDone.load(ordering: .relaxed)
        }
        return try await value
    }

    @Test("200 callers of four replicas send one request")
    func stampede() async throws {
        let mayGo = SharedValue<Void>()
        let store = SharedFake(claimLimit: .seconds(1_000_000))
        let clients = replicas(store) { _ in
            try await mayGo.value()
            return .ok(text: "one", headers: Self.fresh)
        }
        async let answers = advancing(clients) { try await stampede(clients) }
        try await until("all replicas have asked") { store.claimCount >= 4 }
        mayGo.settle(.success(()))
        #expect(try await answers.allSatisfy { $0.text == "one" })
        #expect(sends(of: clients) == 1)
    }

    @Test("A response that is not stored lets all others go at once")
    func notStored() async throws {
        let mayGo = SharedValue<Void>()
        let store = SharedFake(claimLimit: .seconds(1_000_000))
        let clients = replicas(store) { _ in
            try await mayGo.value()
            return .ok(text: "one", headers: ["Cache-Control": "no-store"])
        }
        async let answers = advancing(clients) { try await stampede(clients) }
        try await until("all replicas have asked") { store.claimCount >= 4 }
        #expect(sends(of: clients) == 1)
        mayGo.settle(.success(()))
        #expect(try await answers.count == 200)
        #expect(sends(of: clients) == 200)
    }

    @Test("A holder that ends without a word is waited for until the limit, and no longer")
    func deadHolder() async throws {
        let store = SharedFake(claimLimit: .seconds(5))
        _ = try await store.claim(CachedClient.key("http://a.example/a"))
        let client = CachedClient(store) { _ in .ok(text: "one", headers: Self.fresh) }
        let begun = client.clock.now
        let answer = try await advancing([client]) { try await client.get("/a") }
        #expect(answer.text == "one")
        let waited = begun.duration(to: client.clock.now)
        #expect(waited >= .seconds(5))
    }

    @Test("A call that fails while others wait leaves the claim to one of them")
    func failure() async throws {
        let mayGo = SharedValue<Void>()
        let isFirst = Atomic(true)
        let client = CachedClient(SharedFake(claimLimit: .seconds(1_000_000))) { _ in
            guard isFirst.exchange(false, ordering: .relaxed) else {
                return .ok(text: "two", headers: Self.fresh)
            }
            try await mayGo.value()
            throw ClientError(.connection, "gone")
        }
        async let first = try? client.get("/a")
        try await until("a request") { client.sent == 1 }
        async let second = advancing([client]) { try await client.get("/a") }
        mayGo.settle(.success(()))
        #expect(await first == nil)
        #expect(try await second.text == "two")
        #expect(client.sent == 2)
    }

    @Test("A call that is cancelled while it waits ends at once")
    func cancelled() async throws {
        let store = SharedFake(claimLimit: .seconds(5))
        _ = try await store.claim(CachedClient.key("http://a.example/a"))
        let client = CachedClient(store) { _ in .ok(text: "one", headers: Self.fresh) }
        let call = Task { try await client.get("/a") }
        try await until("a claim") { store.claimCount == 2 }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(client.sent == 0)
    }

    @Test("The gate says how long it waits, if it does")
    func facts() {
        func waits(_ store: some CacheStore) -> [GateEffect] {
            (Cache(store, partition: "test").facts(for: nil)?.effects ?? []).filter {
                $0 == .waits(atMost: .seconds(5), reason: "another replica's request")
            }
        }
        #expect(waits(SharedFake(claimLimit: .seconds(5))).count == 1)
        #expect(waits(MemoryStore()).isEmpty)
    }

    // MARK: Two levels

    private static let root = CacheKey(url: "http://a.example/")

    private func put(
        _ store: some CacheStore, _ text: String, _ key: CacheKey = root
    ) async throws {
        let response = DiskStoreTests.response(key, "one")
        let writer = try #require(try await store.writer(for: response, length: nil))
        try await writer.write(Data(text.utf8))
        try await writer.commit()
    }

    private func text(_ store: some CacheStore, _ key: CacheKey = root) async throws -> String? {
        let entry = try await store.entry(for: key) { _ in true }
        return (entry?.content as? CachedData).map { String(decoding: $0.data, as: UTF8.self) }
    }

    @Test("The front serves what others have removed for a second, or for as long as is given")
    func frontLifetime() async throws {
        let cases: [(Duration?, Duration)] = [(nil, .seconds(1)), (.seconds(30), .seconds(30))]
        for (lifetime, wait) in cases {
            let (back, clock) = (SharedFake(), ManualClock())
            let store = TieredStore(MemoryStore(), back, frontLifetime: lifetime, timeSource: clock)
            try await put(store, "one")
            _ = try await back.removeAll { _ in true }
            clock.advance(by: wait - .milliseconds(1))
            #expect(try await text(store) == "one")
            clock.advance(by: .milliseconds(1))
            #expect(try await text(store) == nil)
            try await put(back, "two")
            #expect(try await text(store) == "two")
            try await put(back, "three")
            #expect(try await text(store) == "two")
            clock.advance(by: wait)
            #expect(try await text(store) == "three")
        }
    }

    @Test("A front without a lifetime asks the back each time, and a back of one process never")
    func noLifetime() async throws {
        let back = SharedFake()
        let store = TieredStore(
            MemoryStore(), back, frontLifetime: .zero, timeSource: ManualClock())
        try await put(store, "one")
        try await put(back, "two")
        #expect(try await text(store) == "two")
        let (own, clock) = (MemoryStore(), ManualClock())
        let both = TieredStore(MemoryStore(), own, timeSource: clock)
        try await put(both, "one")
        try await put(own, "two")
        clock.advance(by: .seconds(86_400))
        #expect(try await text(both) == "one")
    }

    @Test("What the front may serve is known for some thousand keys; the back is asked for others")
    func manyKeys() async throws {
        let (back, clock) = (SharedFake(), ManualClock())
        let store = TieredStore(
            MemoryStore(maxBytes: 1 << 30), back, frontLifetime: .seconds(60), timeSource: clock)
        let keys = (0...8192).map { CacheKey(url: "http://a.example/\($0)") }
        for key in keys { try await put(store, "one", key) }
        // Nothing has ended by the clock.
        for key in keys.suffix(4096) { #expect(try await text(store, key) == "one") }
        #expect(back.lookUps == 0)
        // What another replica has changed since is seen where the front does not know the key any more.
        for key in keys.prefix(2) { try await put(back, "two", key) }
        try await back.remove(keys[2])
        #expect(try await text(store, keys[0]) == "two")
        #expect(try await text(store, keys[1]) == "two")
        #expect(try await text(store, keys[2]) == nil)
        #expect(back.lookUps == 3)
        // The look-up was a confirmation.
        #expect(try await text(store, keys[0]) == "two" && back.lookUps == 3)
    }
}

/// A store in memory that several caches use, with claims.
private final class SharedFake: StoreInMemory {
    private struct State {
        var claims: [CacheKey: String] = [:]
        var open: Set<CacheKey> = []
        var count = 0
        var lookUps = 0
    }

    let store = MemoryStore(maxBytes: 1 << 30)
    private let state = Mutex(State())
    let claimLimit: Duration?

    init(claimLimit: Duration? = nil) { self.claimLimit = claimLimit }

    /// How often a claim was asked for.
    var claimCount: Int { state.withLock { $0.count } }
    /// How often an entry was asked for.
    var lookUps: Int { state.withLock { $0.lookUps } }
    var isShared: Bool { true }

    func claim(_ key: CacheKey) async throws -> CacheClaim {
        state.withLock { state in
            state.count += 1
            if state.open.contains(key) { return .unneeded }
            if state.claims[key] != nil { return .held(atMost: claimLimit ?? .zero) }
            state.claims[key] = "token \(state.count)"
            return .granted(token: "token \(state.count)")
        }
    }

    func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws {
        state.withLock { state in
            guard state.claims[key] == token else { return }
            state.claims[key] = nil
            if waitersGo { state.open.insert(key) }
        }
    }

    func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry? {
        state.withLock { $0.lookUps += 1 }
        return try await store.entry(for: key, where: isMatch)
    }
}
