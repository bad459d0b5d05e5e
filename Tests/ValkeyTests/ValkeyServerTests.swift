// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeValkey

@Suite("A server", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyServerTests {
    private let second = Duration.seconds(10)

    @Test("A value is kept and read")
    func roundTrip() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        #expect(
            try await server.send(ValkeyCommand("SET", "a", "1"), within: second) == .status("OK"))
        #expect(
            try await server.send(ValkeyCommand("GET", "a", key: "a"), within: second)
                == .bytes(Data("1".utf8)))
        #expect(try await server.send(ValkeyCommand("GET", "b"), within: second) == .null)
        #expect(try await server.send(ValkeyCommand("INCR", "a"), within: second) == .integer(2))
        let large = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0) })
        let set = ValkeyCommand([Data("SET".utf8), Data("c".utf8), large])
        #expect(try await server.send(set, within: second) == .status("OK"))
        #expect(try await server.send(ValkeyCommand("GET", "c"), within: second) == .bytes(large))
        await server.shutdown()
        let error = await #expect(throws: ClientError.self) {
            try await server.send(set, within: second)
        }
        #expect(error?.code == .cancelled)
    }

    @Test("A password, a user, and another database")
    func login() async throws {
        let peer = try ValkeyPeer(password: "p@ss")
        try peer.command("ACL", "SETUSER", "ann", "on", ">ann's", "~*", "+@all")
        let server = try ValkeyServer(url: "redis://:p%40ss@127.0.0.1:\(peer.port)/3")
        _ = try await server.send(ValkeyCommand("SET", "a", "3"), within: second)
        let ann = try ValkeyServer(url: "redis://ann:ann's@127.0.0.1:\(peer.port)")
        #expect(
            try await ann.send(ValkeyCommand("ACL", "WHOAMI"), within: second)
                == .bytes(Data("ann".utf8)))
        #expect(try await ann.send(ValkeyCommand("GET", "a"), within: second) == .null)
        _ = try await ann.send(ValkeyCommand("SELECT", "3"), within: second)
        #expect(try await ann.send(ValkeyCommand("GET", "a"), within: second) != .null)
    }

    @Test("Many tasks share one connection, and each gets its own reply", arguments: [1, 3])
    func pipeline(connections: Int) async throws {
        let peer = try ValkeyPeer()
        var configuration = ValkeyServer.Configuration()
        configuration.connections = connections
        let server = try ValkeyServer(url: peer.url, configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<64 {
                group.addTask {
                    for number in 0..<50 {
                        let text = "\(task):\(number):" + String(repeating: "x", count: number * 7)
                        let value = try await server.send(
                            ValkeyCommand("ECHO", text), within: second)
                        #expect(value == .bytes(Data(text.utf8)))
                    }
                }
            }
            try await group.waitForAll()
        }
        let clients = try #require(peer.info("connected_clients").flatMap { Int($0) })
        // With the one that asks.
        #expect(clients == connections + 1)
    }

    @Test("A script is sent once, and again where it is not known any more")
    func script() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        let script = ValkeyScript("return {KEYS[1], ARGV[1], redis.call('INCR', KEYS[1])}")
        func run() async throws -> ValkeyValue {
            try await server.run(
                script, keys: ["{k}a"], arguments: [Data("x".utf8)], within: second)
        }
        for count in 1...3 {
            let value = try await run()
            #expect(
                value
                    == .array([
                        .bytes(Data("{k}a".utf8)), .bytes(Data("x".utf8)), .integer(Int64(count)),
                    ]))
        }
        try peer.command("SCRIPT", "FLUSH")
        _ = try await run()
        _ = try await run()
        let calls = try #require(peer.command("INFO", "commandstats").text)
        let evalsha = try #require(calls.split(separator: "\r\n").first { $0.contains("evalsha") })
        #expect(evalsha.contains("failed_calls=2"))
        let broken = ValkeyScript("return nothing(")
        let error = await #expect(throws: ClientError.self) {
            try await server.run(broken, keys: [], arguments: [], within: second)
        }
        #expect(error?.message.contains("compiling") == true)
    }

    @Test("A cancelled task ends at once; the reply of its command is dropped")
    func cancellation() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        _ = try await server.send(ValkeyCommand("PING"), within: second)
        peer.pause()
        let task = Task { try await server.send(ValkeyCommand("ECHO", "late"), within: second) }
        try await until("the command") { server.waiting == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        peer.resume()
        #expect(
            try await server.send(ValkeyCommand("ECHO", "next"), within: second)
                == .bytes(Data("next".utf8)))
        let early = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await server.send(ValkeyCommand("PING"), within: second)
        }
        await #expect(throws: CancellationError.self) { try await early.value }
    }

    @Test("A command that is late fails in time, and the connection goes on")
    func lateness() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        _ = try await server.send(ValkeyCommand("PING"), within: second)
        peer.pause()
        let begin = Poller.now
        let error = await #expect(throws: ClientError.self) {
            try await server.send(ValkeyCommand("ECHO", "late"), within: .milliseconds(30))
        }
        #expect(error?.code == .attemptTimeout)
        #expect(error?.message.contains("has not answered within 30 ms") == true)
        // Never early; how late it is depends on the machine.
        #expect(Poller.now - begin >= 30_000_000)
        peer.resume()
        #expect(
            try await server.send(ValkeyCommand("ECHO", "next"), within: second)
                == .bytes(Data("next".utf8)))
        #expect(try peer.info("total_connections_received").flatMap { Int($0) } ?? 0 > 1)
    }

    @Test("What waits in line is limited, by number and by bytes")
    func limits() async throws {
        let peer = try ValkeyPeer()
        var configuration = ValkeyServer.Configuration()
        configuration.maxWaitingCommands = 10
        configuration.maxWaitingBytes = 100_000
        let server = try ValkeyServer(url: peer.url, configuration: configuration)
        _ = try await server.send(ValkeyCommand("PING"), within: second)
        peer.pause()
        let tasks = (0..<10).map { _ in
            Task { try await server.send(ValkeyCommand("PING"), within: second) }
        }
        try await until("the commands") { server.waiting == 10 }
        let error = await #expect(throws: ClientError.self) {
            try await server.send(ValkeyCommand("PING"), within: second)
        }
        #expect(error?.code == .overloaded)
        #expect(error?.message.contains("10 commands wait") == true)
        peer.resume()
        for task in tasks { #expect(try await task.value == .status("PONG")) }
        let bytes = await #expect(throws: ClientError.self) {
            try await server.send(
                ValkeyCommand("ECHO", String(repeating: "x", count: 100_000)), within: second)
        }
        #expect(bytes?.code == .overloaded)
        #expect(bytes?.message.contains("100000 bytes") == true)
    }

    @Test("A socket of this machine is a server too")
    func unixSocket() async throws {
        let path = "/tmp/turnpike-valkey-\(UUID().uuidString).sock"
        let peer = try ValkeyPeer(options: ["--unixsocket", path])
        defer { try? FileManager.default.removeItem(atPath: path) }
        _ = try peer.command("SET", "a", "1")
        let server = try ValkeyServer(url: "unix://\(path)?db=0")
        #expect(
            try await server.send(ValkeyCommand("GET", "a"), within: second)
                == .bytes(Data("1".utf8)))
    }

    @Test("A meter is told what happens")
    func meter() async throws {
        let peer = try ValkeyPeer()
        let store = MetricsStore()
        let server = try ValkeyServer(url: peer.url, meter: store)
        for _ in 0..<3 { _ = try await server.send(ValkeyCommand("PING"), within: second) }
        peer.kill()
        try await until("a failure") {
            store.prometheusText.contains("turnpike_valkey_connections 0")
        }
        #expect(store.prometheusText.contains("turnpike_valkey_commands_total 3"))
    }
}
