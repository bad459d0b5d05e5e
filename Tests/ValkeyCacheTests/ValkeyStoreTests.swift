// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeCache
import TurnpikeTesting
import TurnpikeValkey

@testable import TurnpikeValkeyCache

@Suite("ValkeyStore", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyStoreTests {
    @Test("Another replica finds what one has stored, with one command")
    func shared() async throws {
        let replicas = try Replicas()
        let (one, two) = (replicas.stores[0], replicas.stores[1])
        #expect(try await two.text() == nil)
        try await one.put()
        #expect(try await two.text() == "content")
        let before = try #require(Int(replicas.peer.info("total_commands_processed") ?? ""))
        for _ in 0..<10 { #expect(try await two.text() == "content") }
        let after = try #require(Int(replicas.peer.info("total_commands_processed") ?? ""))
        // Each look at the server's figures costs commands too.
        #expect(after - before >= 10 && after - before < 15)
    }

    @Test("Keys and partitions are apart, and share no bytes")
    func keys() async throws {
        let replicas = try Replicas(1)
        defer { replicas.peer.kill() }
        let store = replicas.stores[0]
        let keys = [
            CacheKey(url: "http://a.example/"), CacheKey(url: "http://a.example/b"),
            CacheKey(url: "http://a.example/", partition: "one"),
            CacheKey(url: "http://a.example/", partition: "two"),
            CacheKey(url: "http://a.example/", partition: ""),
        ]
        for (number, key) in keys.enumerated() {
            try await store.put(.sample(key), Data("\(number)".utf8))
        }
        for (number, key) in keys.enumerated() { #expect(try await store.text(key) == "\(number)") }
        try await store.remove(keys[2])
        #expect(try await store.text(keys[2]) == nil)
        #expect(try await store.text(keys[3]) == "3")
        #expect(try await store.list().count == 4)
    }

    @Test("Variants of a key are apart; the newest that fits is found, and 16 stay")
    func variants() async throws {
        let replicas = try Replicas()
        let (one, two) = (replicas.stores[0], replicas.stores[1])
        for number in 0..<20 {
            try await one.put(
                .sample(variant: "\(number)", after: Double(number)), Data("\(number)".utf8))
        }
        #expect(try await two.text() == "19")
        for number in [4, 10, 19] {
            let entry = try await two.entry(for: .sample) {
                $0.variant.fields[0].value == "\(number)"
            }
            #expect((entry?.content as? CachedData)?.data == Data("\(number)".utf8))
        }
        let values = try await two.list().map { $0.response.variant.fields[0].value ?? "" }
        #expect(Set(values) == Set((4..<20).map(String.init)))
        // A variant that is stored again becomes the newest, and stays.
        try await one.put(.sample(variant: "4", after: 30), Data("new".utf8))
        try await one.put(.sample(variant: "30", after: 31), Data("30".utf8))
        #expect(try await two.entry(for: .sample) { $0.variant.fields[0].value == "4" } != nil)
        #expect(try await two.entry(for: .sample) { $0.variant.fields[0].value == "5" } == nil)
    }

    @Test("A bound holds for all variants of a key together; larger content is not stored")
    func size() async throws {
        var options = ValkeyStore.Options.patient
        options.maxEntryBytes = 100_000
        let replicas = try Replicas(1, options: options)
        defer { replicas.peer.kill() }
        let store = replicas.stores[0]
        #expect(try await store.writer(for: .sample(), length: 100_001) == nil)
        for name in ["a", "b", "c"] {
            try await store.put(.sample(variant: name), Data(count: 40_000))
        }
        #expect(try await store.list().count == 2)
        // What it was to replace is out of date.
        try await store.put(.sample(variant: "c"), Data(count: 100_001))
        #expect(try await store.list().isEmpty)
        try await store.put(.sample(), Data(count: 99_990))
        #expect(try await store.list().isEmpty)
    }

    @Test("A new head has effect if the entry is as it was found, in this store or in front of it")
    func update() async throws {
        let replicas = try Replicas()
        let (one, two) = (replicas.stores[0], replicas.stores[1])
        try await one.put()
        let found = try #require(try await two.find())
        try await two.update(found, to: .sample(mark: "new", after: 60))
        #expect(try await one.find()?.response.head.headers["X-Mark"] == "new")
        #expect(try await one.text() == "content")
        // It is another one now.
        try await two.update(found, to: .sample(mark: "newer", after: 90))
        #expect(try await one.find()?.response.head.headers["X-Mark"] == "new")
        let present = try #require(try await two.find())
        try await two.update(present, to: .sample(variant: "x", mark: "newest", after: 90))
        #expect(try await one.find()?.response.variant.fields.count == 1)
        #expect(try await one.list().count == 1)
        try await one.remove(.sample)
        try await two.update(present, to: .sample(mark: "late"))
        #expect(try await one.find() == nil)
    }

    @Test("A response whose request was sent before a removal is not stored")
    func removal() async throws {
        var options = ValkeyStore.Options.patient
        // No longer than a connection without replies is kept in any case.
        options.timeLimit = .seconds(2)
        let replicas = try Replicas(options: options)
        let (one, two) = (replicas.stores[0], replicas.stores[1])
        let early = try #require(try await one.writer(for: .sample(), length: nil))
        try await early.write(Data("old".utf8))
        try await two.remove(.sample)
        try await early.commit()
        #expect(try await two.text() == nil)
        // The time that a command may take counts as before the removal.
        try await eventually("a time after the removal") {
            try await one.put(.sample(), Data("new".utf8))
            return try await two.text() != nil
        }
        #expect(try await two.text() == "new")
        // The gate sees to removals of its own process: the response to a POST may be stored after one.
        let own = try #require(try await one.writer(for: .sample(), length: nil))
        try await own.write(Data("own".utf8))
        try await one.remove(.sample)
        try await own.commit()
        #expect(try await two.text() == "own")
        let other = try #require(try await one.writer(for: .sample(), length: nil))
        try await two.remove(.sample)
        try await one.remove(.sample)
        try await other.commit()
        #expect(try await two.text() == nil)
    }

    @Test("A removal that comes late does not take back a later one")
    func lateRemoval() async throws {
        let clock = ManualClock()
        let replicas = try Replicas(3, on: ValkeyPeer(), timeSource: clock)
        let name = StoreKey(.sample, prefix: "turnpike:cache").name
        func removed() throws -> String? {
            let text = try replicas.peer.command("HGET", name, "removed").text
            return text?.split(separator: " ").first.map(String.init)
        }
        let early = clock.now
        clock.advance(by: .seconds(40))
        try await replicas.stores[1].remove(.sample)
        let before = try #require(try removed())
        // Two replicas were cut off, or slow, when they were to remove it.
        try await replicas.stores[0].remove(.sample, since: early)
        #expect(try removed() == before)
        try await replicas.stores[1].remove(.sample, since: early)
        #expect(try removed() == before)
        // Its request was sent between the two removals.
        let response = StoredResponse.sample(after: 15)
        try await replicas.stores[2].put(
            StoredResponse(
                key: .sample, variant: response.variant, head: response.head,
                requestTime: response.responseTime.addingTimeInterval(-15),
                responseTime: response.responseTime))
        #expect(try await replicas.stores[2].text() == nil)
    }

    @Test(
        "A response that may have been sent to the server before a removal is not stored",
        arguments: [
            (2, 2, 0.0, false), (2, 2, 2.1, true), (10, 2, 5, false), (10, 2, 10.1, true),
            (2, 10, 5, false),
        ])
    func lateArrival(limit: Int, stall: Int, ago: Double, isStored: Bool) async throws {
        var options = ValkeyStore.Options.patient
        options.timeLimit = .seconds(limit)
        var configuration = ValkeyServer.Configuration()
        configuration.stallLimit = .seconds(stall)
        // By the clock of the replica, which stands still, nothing was on its way for any time.
        let replicas = try Replicas(
            1, on: ValkeyPeer(), options: options, configuration: configuration,
            timeSource: ManualClock())
        let script = """
            local time = redis.call('TIME')
            return redis.call('HSET', KEYS[1], 'removed',
              string.format('%.0f other 0', time[1] * 1000000 + time[2] - ARGV[1]))
            """
        let name = StoreKey(.sample, prefix: "turnpike:cache").name
        let ago = String(Int(ago * 1_000_000))
        #expect(try replicas.peer.command("EVAL", script, "1", name, ago).error == nil)
        try await replicas.stores[0].put()
        #expect(try await replicas.stores[0].text() == (isStored ? "content" : nil))
    }

    @Test("The server removes an entry when it is of no more use")
    func expiry() async throws {
        let replicas = try Replicas(1)
        try await replicas.stores[0].put(.sample(control: "max-age=60, stale-if-error=40"))
        let name = StoreKey(.sample, prefix: "turnpike:cache").name
        guard case .integer(let rest) = try replicas.peer.command("PTTL", name) else {
            Issue.record("no time")
            return
        }
        #expect(rest > 90_000 && rest <= 100_000)
    }

    @Test("A purge removes the entries for which its condition holds, and counts them")
    func purge() async throws {
        let replicas = try Replicas()
        let (one, two) = (replicas.stores[0], replicas.stores[1])
        for number in 0..<300 {
            let key = CacheKey(url: "http://a.example/\(number)")
            try await one.put(.sample(key, mark: number % 3 == 0 ? "go" : "stay"))
        }
        try replicas.peer.command("SET", "turnpike:cache:{00000000000000000000000000000000}", "x")
        #expect(try await two.removeAll { $0.head.headers["X-Mark"] == "go" } == 100)
        let rest = try await one.list()
        #expect(rest.count == 200 && rest.allSatisfy { $0.length == 7 })
        #expect(try await two.text(CacheKey(url: "http://a.example/3")) == nil)
        #expect(try await two.text(CacheKey(url: "http://a.example/4")) == "content")
    }

    @Test("A cluster's nodes are all listed and purged")
    func cluster() async throws {
        let cluster = try ValkeyCluster.shared.get()
        let store = ValkeyStore(try ValkeyServer(url: cluster.nodes[0].url), options: .patient)
        for number in 0..<60 {
            try await store.put(.sample(CacheKey(url: "http://a.example/\(number)")))
        }
        let sizes = try cluster.nodes.map {
            try $0.command("KEYS", "turnpike:cache:*").list?.count ?? 0
        }
        #expect(sizes.allSatisfy { $0 > 0 })
        #expect(try await store.list().count == 60)
        #expect(try await store.removeAll { _ in true } == 60)
        #expect(try await store.list().isEmpty)
    }
}
