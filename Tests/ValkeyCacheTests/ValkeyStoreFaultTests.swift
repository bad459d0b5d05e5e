// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeCache
import TurnpikeTesting
import TurnpikeValkey

@testable import TurnpikeValkeyCache

@Suite(
    "ValkeyStore, when its server has a fault",
    .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyStoreFaultTests {
    private let name = StoreKey(.sample, prefix: "turnpike:cache").name

    @Test("What is damaged, of another version or of another key is not found")
    func damage() async throws {
        let replicas = try Replicas(1)
        let (store, peer) = (replicas.stores[0], replicas.peer)
        for script in [
            "return redis.call('HSET', KEYS[1], 'v', 'x')",
            "return redis.call('HSET', KEYS[1], 'v', '')",
            "local v = redis.call('HGET', KEYS[1], 'v')"
                + " return redis.call('HSET', KEYS[1], 'v', string.sub(v, 2))",
            "local v = redis.call('HGET', KEYS[1], 'v')"
                + " return redis.call('HSET', KEYS[1], 'v', 'C' .. string.sub(v, 2))",
        ] {
            try await store.put()
            #expect(try await store.text() == "content")
            #expect(try peer.command("EVAL", script, "1", name).error == nil)
            #expect(try await store.find() == nil)
        }
        let other = CacheKey(url: "http://a.example/other")
        try await store.put(.sample(other))
        try peer.command("COPY", StoreKey(other, prefix: "turnpike:cache").name, name, "REPLACE")
        #expect(try await store.find() == nil)
        #expect(try await store.text(other) == "content")
        #expect(try await store.list().count == 1)
    }

    @Test("A key of another type concerns that key alone")
    func wrongType() async throws {
        let replicas = try Replicas(1)
        let store = replicas.stores[0]
        try replicas.peer.command("SET", name, "x")
        let other = CacheKey(url: "http://a.example/other")
        for _ in 0..<5 {
            await expectError(.validation) { try await store.find() }
            await expectError(.validation) { try await store.put() }
            try await store.put(.sample(other))
            #expect(try await store.text(other) == "content")
        }
        // A removal takes the key: nothing else may have it.
        try await store.remove(.sample)
        try await store.put()
        #expect(try await store.text() == "content")
    }

    @Test("A server whose memory is full still finds, and still removes")
    func full() async throws {
        let replicas = try Replicas(1)
        let (store, peer) = (replicas.stores[0], replicas.peer)
        try await store.put()
        try peer.command("CONFIG", "SET", "maxmemory", "1")
        let other = CacheKey(url: "http://a.example/other")
        for _ in 0..<3 {
            await expectError(.overloaded) { try await store.put(.sample(other)) }
        }
        #expect(try await store.text() == "content")
        try peer.command("CONFIG", "SET", "maxmemory", "0")
    }

    @Test("A removal that a read-only server refuses is kept in mind, and made up for")
    func readOnly() async throws {
        let replicas = try Replicas()
        let (store, peer) = (replicas.stores[0], replicas.peer)
        try await store.put()
        try peer.command("REPLICAOF", "127.0.0.1", "1")
        await expectError(.connection) { try await store.remove(.sample) }
        #expect((try? await store.find()) == nil)
        await expectError(.connection) { try await store.put() }
        try peer.command("REPLICAOF", "NO", "ONE")
        // The client looks for the primary first, and needs some time to find it here.
        try await eventually("the removal") {
            await store.flush()
            return try peer.command("HKEYS", name) == .list([.text("removed")])
        }
        try await eventually("the store") { (try? await store.put()) != nil }
        #expect(try await store.text() == "content")
        // The other replica finds the server again, too.
        try await eventually("the other replica") {
            (try? await replicas.stores[1].text()) == "content"
        }
    }

    @Test(
        "A server that was killed costs its time limit three times, then nothing; it is used again")
    func killed() async throws {
        // While its clock stands, the store does not ask again.
        let clock = ManualClock()
        let replicas = try Replicas(
            1, on: ValkeyPeer(), options: ValkeyStore.Options(), timeSource: clock)
        let (store, peer) = (replicas.stores[0], replicas.peer)
        try await putPatiently(store, clock)
        peer.kill()
        // A server that is asked, and is not there, is an error; one that is not asked has nothing.
        for _ in 0..<3 {
            await #expect(throws: ClientError.self) { try await store.find() }
            await #expect(throws: ClientError.self) { try await store.put() }
        }
        for _ in 0..<100 { #expect(try await store.find() == nil) }
        try peer.restart()
        let away = await #expect(throws: ClientError.self) { try await store.put() }
        #expect(away?.message.contains("does not ask") == true, "before its clock has gone on")
        try await putPatiently(store, clock)
    }

    // Stores and finds an entry, also if the first tries are too slow for the time limit.
    private func putPatiently(_ store: ValkeyStore, _ clock: ManualClock? = nil) async throws {
        try await eventually("an entry") {
            clock?.advance(by: .seconds(1))
            guard (try? await store.put()) != nil, let text = try? await store.text() else {
                return false
            }
            #expect(text == "content")
            return true
        }
    }

    @Test("A server that does not answer holds a call up for its time limit")
    func stopped() async throws {
        let peer = try ValkeyPeer()
        let store = ValkeyStore(try ValkeyServer(url: peer.url))
        try await putPatiently(store)
        let cache = Cache(store, partition: "test")
        let client = Client(
            transport: MockTransport { _ in
                .ok(text: "one", headers: ["Cache-Control": "max-age=60"])
            },
            stack: [cache])
        peer.pause()
        defer { peer.resume() }
        let error = await #expect(throws: ClientError.self) { try await store.find() }
        #expect(error?.code == .attemptTimeout)
        #expect(error?.message.contains("within 20 ms") == true, "\(error?.message ?? "")")
        for _ in 0..<10 {
            #expect(try await client.get("http://a.example/x").string() == "one")
        }
        #expect(cache.statistics.failures > 0)
    }

    @Test("Without a server, calls go on, and the removals of too many keys are not forgotten")
    func lostRemovals() async throws {
        let peer = try ValkeyPeer()
        let store = ValkeyStore(try ValkeyServer(url: peer.url), options: .patient)
        let now = Date()
        func response(_ path: String, _ date: Date) -> StoredResponse {
            let key = CacheKey(url: "http://a.example/\(path)")
            return StoredResponse(
                key: key, variant: Variant(fields: []), head: StoredResponse.sample(key).head,
                requestTime: date, responseTime: date)
        }
        try await store.put(response("old", now))
        store.state.withLock { state in
            for number in 0..<5000 {
                state.addRemoval(
                    CacheKey(url: "http://a.example/\(number)"), at: store.timeSource.now, Date())
            }
        }
        #expect(try await store.find(CacheKey(url: "http://a.example/old")) == nil)
        try await store.put(response("new", Date()))
        #expect(try await store.find(CacheKey(url: "http://a.example/new")) != nil)
    }
}
