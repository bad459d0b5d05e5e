// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("The servers of the tests", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ServerTests {
    @Test("A server keeps what it is told, and loses it when it is killed")
    func life() throws {
        let peer = try ValkeyPeer(password: "secret")
        #expect(try peer.command("SET", "a", "1") == .text("OK"))
        #expect(try peer.command("GET", "a").text == "1")
        let id = peer.id
        peer.kill()
        #expect(kill(id, 0) != 0)
        #expect(throws: ServerFault.self) { try peer.command("GET", "a") }
        try peer.restart()
        #expect(peer.id != id)
        #expect(try peer.command("GET", "a") == .null)
    }

    @Test("A server that nobody refers to ends")
    func release() throws {
        var peer: ValkeyPeer? = try ValkeyPeer()
        let id = try #require(peer).id
        #expect(kill(id, 0) == 0)
        peer = nil
        #expect(kill(id, 0) != 0)
    }

    @Test("A cluster moves a slot with its keys")
    func cluster() throws {
        let cluster = try ValkeyCluster.shared.get()
        let slot = try cluster.slot(of: "{a}b")
        let source = try cluster.owner(of: slot)
        let target = (source + 1) % 3
        #expect(try cluster.nodes[source].command("SET", "{a}b", "1") == .text("OK"))
        try cluster.move(slot, to: target)
        #expect(try cluster.nodes[target].command("GET", "{a}b").text == "1")
        #expect(
            try cluster.nodes[source].command("GET", "{a}b").error
                == "MOVED \(slot) 127.0.0.1:\(cluster.nodes[target].port)")
    }

    @Test("A replica has the data, and takes over")
    func pair() throws {
        let pair = try ValkeyPair()
        try pair.first.command("SET", "a", "1")
        try pair.second.wait(for: "the key") { try pair.second.command("GET", "a").text == "1" }
        #expect(try pair.second.command("SET", "a", "2").error?.hasPrefix("READONLY") == true)
        try pair.failOver()
        #expect(try pair.second.command("SET", "a", "2") == .text("OK"))
        #expect(try pair.first.command("SET", "a", "3").error?.hasPrefix("READONLY") == true)
    }

    @Test("A proxy delays, cuts at a random byte, refuses, and resets")
    func proxy() throws {
        let peer = try ValkeyPeer()
        let proxy = try FaultyProxy(to: peer.port)
        let clear = try RawConnection(port: proxy.port)
        #expect(try clear("PING") == .text("PONG"))
        proxy.faults.upDelay = .milliseconds(60)
        proxy.faults.downDelay = .milliseconds(40)
        let begin = ContinuousClock.now
        #expect(try clear("PING") == .text("PONG"))
        // Never early; how late it is depends on the machine.
        #expect(begin.duration(to: .now) >= .milliseconds(100))
        proxy.faults = .init()
        proxy.reset()
        #expect(throws: ServerFault.self) { for _ in 0..<1000 { _ = try clear("PING") } }
        proxy.faults.cutsWithin = 200
        let cut = try RawConnection(port: proxy.port)
        #expect(throws: ServerFault.self) { for _ in 0..<1000 { _ = try cut("PING") } }
        #expect(proxy.cuts == 1)
        proxy.faults = .init()
        proxy.faults.refuses = true
        #expect(throws: ServerFault.self) { try RawConnection(port: proxy.port)("PING") }
        #expect(proxy.accepted == 3)
    }

    @Test("A counting server notes each request")
    func counting() async throws {
        let server = try CountingServer()
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/3"))
        let data = try #require(
            output(of: "curl", "-s", "-i", url.absoluteString, url.absoluteString))
        #expect(String(decoding: data, as: UTF8.self).components(separatedBy: "204").count == 3)
        #expect(server.arrivals.map(\.target) == ["/3", "/3"])
    }
}
