// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeValkey

@Suite("The slots of a cluster")
struct ValkeySlotTests {
    private let server = NodeAddress(host: "10.0.0.1", port: 7000)

    @Test(
        "A key has the slot of its hash tag",
        arguments: [
            ("123456789", 12_739), ("foo", 12_182), ("{foo}bar", 12_182), ("a{foo}b{c}", 12_182),
            ("{}foo", 9500), ("foo{}", 5542), ("foo{", 7673), ("", 0),
        ])
    func keys(key: String, slot: Int) {
        #expect(KeySlot.of(Data(key.utf8)) == slot)
        // A part of other data counts from another index.
        #expect(KeySlot.of(Data(("x" + key).utf8).dropFirst()) == slot)
    }

    @Test(
        "A redirect names a node, or is none",
        arguments: [
            (
                "MOVED 3999 127.0.0.1:6381",
                ClusterRedirect.moved(slot: 3999, to: NodeAddress(host: "127.0.0.1", port: 6381))
            ),
            ("MOVED 1 :6381", .moved(slot: 1, to: NodeAddress(host: "10.0.0.1", port: 6381))),
            ("ASK 1 ::1:6381", .ask(NodeAddress(host: "::1", port: 6381))),
            ("MOVED 1 ?:6381", nil), ("MOVED 16384 a:1", nil), ("MOVED -1 a:1", nil),
            ("MOVED", nil), ("MOVED 1", nil), ("MOVED 1 a", nil), ("MOVED 1 a:0", nil),
            ("MOVED 1 a:99999999999999999999", nil), ("MOVED 1 /tmp/x:1", nil),
            ("MOVED 99999999999999999999 a:1", nil), ("MOVEDX 1 a:1", nil), ("ERR", nil),
        ] as [(String, ClusterRedirect?)])
    func redirects(text: String, redirect: ClusterRedirect?) {
        #expect(ClusterRedirect(text, by: server) == redirect)
    }

    @Test("A table leaves out what makes no sense")
    func table() throws {
        func range(_ first: Int64, _ last: Int64, _ host: ValkeyValue, _ port: Int64) -> ValkeyValue
        {
            .array([.integer(first), .integer(last), .array([host, .integer(port), .null])])
        }
        let reply = ValkeyValue.array([
            range(0, 9, .bytes(Data("a".utf8)), 1), range(10, 19, .null, 2),
            range(20, 29, .bytes(Data()), 3), range(30, 39, .bytes(Data("?".utf8)), 4),
            range(40, 39, .bytes(Data("a".utf8)), 1), range(-1, 5, .bytes(Data("x".utf8)), 1),
            range(50, 99_999, .bytes(Data("x".utf8)), 1), range(60, 61, .integer(1), 1),
            range(70, 71, .bytes(Data("a".utf8)), .max), .null, .array([]),
            .array([.integer(80), .integer(81), .array([])]),
        ])
        let table = try #require(SlotTable(reply, by: server))
        #expect(table.owner(of: 0) == NodeAddress(host: "a", port: 1))
        #expect(table.owner(of: 10) == NodeAddress(host: "10.0.0.1", port: 2))
        #expect(table.owner(of: 29) == NodeAddress(host: "10.0.0.1", port: 3))
        for slot in [30, 40, 50, 60, 70, 80, -1, 16_384] { #expect(table.owner(of: slot) == nil) }
        #expect(SlotTable(.integer(1), by: server) == nil)
    }
}

private final class Traffic: Sendable {
    let isOver = Mutex(false)
    let count = Mutex(0)
}

@Suite(
    "A cluster", .serialized, .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyClusterTests {
    private let limit = Duration.seconds(5)

    @Test("Keys are spread over the nodes, and a slot moves during traffic without a failure")
    func move() async throws {
        let cluster = try ValkeyCluster.shared.get()
        let server = try ValkeyServer(url: cluster.url)
        for number in 0..<100 {
            let key = "spread \(number)"
            _ = try await server.send(ValkeyCommand("SET", key, "1", key: key), within: limit)
        }
        let sizes = try cluster.nodes.map {
            try $0.command("KEYS", "spread *").list?.count ?? 0
        }
        #expect(sizes.allSatisfy { $0 > 10 } && sizes.reduce(0, +) == 100, "\(sizes)")
        let slot = try cluster.slot(of: "{t}")
        let source = try cluster.owner(of: slot)
        let target = (source + 1) % 3
        let script = ValkeyScript("return redis.call('INCR', KEYS[1])")
        let traffic = Traffic()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    while !traffic.isOver.withLock(\.self) {
                        _ = try await server.run(
                            script, keys: ["{t}\(task)"], arguments: [], within: limit)
                        traffic.count.withLock { $0 += 1 }
                    }
                }
            }
            group.addTask {
                try await until("some calls") { traffic.count.withLock(\.self) > 100 }
                try cluster.beginMove(slot, from: source, to: target)
                let begun = traffic.count.withLock(\.self)
                try await until("more calls") { traffic.count.withLock(\.self) > begun + 100 }
                try cluster.moveKeys(slot, from: source, to: target)
                let moved = traffic.count.withLock(\.self)
                try await until("more calls") { traffic.count.withLock(\.self) > moved + 100 }
                try cluster.endMove(slot, to: target)
                let ended = traffic.count.withLock(\.self)
                try await until("more calls") { traffic.count.withLock(\.self) > ended + 100 }
                traffic.isOver.withLock { $0 = true }
            }
            try await group.waitForAll()
        }
        var sum = 0
        for task in 0..<8 {
            let key = "{t}\(task)"
            if case .bytes(let data) = try await server.send(
                ValkeyCommand("GET", key, key: key), within: limit)
            {
                sum += Int(String(decoding: data, as: UTF8.self)) ?? 0
            }
        }
        #expect(sum == traffic.count.withLock(\.self))
        #expect(try cluster.nodes[target].command("EXISTS", "{t}1").integer == 1)
    }

    @Test("Keys that are on two nodes for a moment are asked for again, within the limit")
    func halfMoved() async throws {
        let cluster = try ValkeyCluster.shared.get()
        let server = try ValkeyServer(url: cluster.url)
        for key in ["{half}1", "{half}2"] {
            _ = try await server.send(ValkeyCommand("SET", key, key, key: key), within: limit)
        }
        let slot = try cluster.slot(of: "{half}")
        let source = try cluster.owner(of: slot)
        let target = (source + 1) % 3
        try cluster.beginMove(slot, from: source, to: target)
        let port = "\(cluster.nodes[target].port)"
        try cluster.nodes[source].command("MIGRATE", "127.0.0.1", port, "{half}1", "0", "5000")
        let both = ValkeyCommand("MGET", "{half}1", "{half}2", key: "{half}1")
        let before = try tries(of: cluster)
        let error = await #expect(throws: ClientError.self) {
            try await server.send(both, within: .milliseconds(300))
        }
        #expect(error?.code == .connection)
        #expect(error?.message.contains("TRYAGAIN") == true, "\(error?.message ?? "")")
        #expect(try tries(of: cluster) >= before + 2)
        let patient = Task { try await server.send(both, within: limit) }
        // Its first tries have failed by then, as those above have.
        let asked = try tries(of: cluster)
        try await until("two tries") { ((try? tries(of: cluster)) ?? 0) >= asked + 2 }
        try cluster.moveKeys(slot, from: source, to: target)
        #expect(
            try await patient.value
                == .array([.bytes(Data("{half}1".utf8)), .bytes(Data("{half}2".utf8))]))
        try cluster.endMove(slot, to: target)
    }

    private func tries(of cluster: ValkeyCluster) throws -> Int {
        try cluster.nodes.reduce(0) { sum, node in
            let text = try node.info("errorstat_TRYAGAIN")
            return sum + (text.flatMap { Int($0.drop { $0 != "=" }.dropFirst()) } ?? 0)
        }
    }

    @Test("A cluster has no other database")
    func database() async throws {
        let peer = try ValkeyPeer(options: ["--cluster-enabled", "yes"])
        let server = try ValkeyServer(url: peer.url + "/1")
        let error = await #expect(throws: ClientError.self) {
            try await server.send(ValkeyCommand("PING"), within: limit)
        }
        #expect(error?.message.contains("end the URL with /0") == true, "\(error?.message ?? "")")
    }
}
