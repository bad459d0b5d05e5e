// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeValkey

@Suite("A server that goes and comes", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyReconnectTests {
    private let limit = Duration.seconds(5)

    /// Asks until there is an answer; meanwhile no next try to connect is far.
    private func recover(
        _ server: ValkeyServer, _ command: ValkeyCommand = ValkeyCommand("SET", "r", "1")
    ) async throws {
        try await eventually("the server") {
            let isAnswered = (try? await server.send(command, within: .milliseconds(100))) != nil
            let retryAt = server.engine.state.withLock { $0.home.retryAt }
            #expect(retryAt <= Poller.now.addingClamped(400_000_000))
            return isAnswered
        }
    }

    @Test("After a kill, commands fail at once, and work soon after the return")
    func killed() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        _ = try await server.send(ValkeyCommand("PING"), within: limit)
        peer.pause()
        let waiting = Task { try await server.send(ValkeyCommand("PING"), within: limit) }
        try await until("the command") { server.waiting == 1 }
        peer.kill()
        await expectError(.connection) { try await waiting.value }
        for _ in 0..<50 {
            // At once: one that waits ends with its limit, which is another error.
            let error = await #expect(throws: ClientError.self) {
                try await server.send(ValkeyCommand("PING"), within: limit)
            }
            #expect(error?.code == .connection)
        }
        try peer.restart()
        try await recover(server)
        let clients = try peer.info("connected_clients")
        #expect(clients == "2", "it has one connection, and the one that asks is the other")
    }

    @Test("A server that has worked is not suspected of TLS when it ends connections, others are")
    func suspicion() async throws {
        let peer = try ValkeyPeer()
        let proxy = try FaultyProxy(to: peer.port)
        let url = "redis://127.0.0.1:\(proxy.port)"
        let known = try ValkeyServer(url: url)
        _ = try await known.send(ValkeyCommand("PING"), within: limit)
        proxy.faults.refuses = true
        peer.kill()
        func message(of server: ValkeyServer) async throws -> String {
            var message = ""
            try await eventually("a connection that ends before an answer") {
                do {
                    _ = try await server.send(ValkeyCommand("PING"), within: .milliseconds(100))
                } catch let error as ClientError {
                    message = error.message
                }
                return message.contains("before it answered")
            }
            return message
        }
        let other = try ValkeyServer(url: url)
        #expect(try await message(of: other).contains("if the server expects TLS, write rediss://"))
        #expect(try await !message(of: known).contains("TLS"))
    }

    @Test("A server that was stopped is used again soon after it goes on")
    func stopped() async throws {
        let peer = try ValkeyPeer()
        var configuration = ValkeyServer.Configuration()
        configuration.stallLimit = .milliseconds(300)
        configuration.connectLimit = .milliseconds(500)
        let server = try ValkeyServer(url: peer.url, configuration: configuration)
        _ = try await server.send(ValkeyCommand("PING"), within: limit)
        peer.pause()
        var codes: Set<ClientError.Code> = []
        // Commands are late, then their connection is given up, and the next one gets no greeting.
        try await eventually("a lost connection") {
            do {
                _ = try await server.send(ValkeyCommand("PING"), within: .milliseconds(20))
            } catch let error as ClientError {
                codes.insert(error.code)
            }
            return codes.isSuperset(of: [.attemptTimeout, .connectTimeout])
        }
        peer.resume()
        try await recover(server)
    }

    @Test("A cut at any byte loses commands, but never gives one the reply of another")
    func cuts() async throws {
        let peer = try ValkeyPeer()
        let proxy = try FaultyProxy(to: peer.port)
        proxy.faults.cutsWithin = 3000
        let server = try ValkeyServer(url: "redis://127.0.0.1:\(proxy.port)")
        var failures = 0
        var answers = 0
        for round in 0..<40 {
            await withTaskGroup(of: Bool.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        let text = "\(round)/\(task)/" + String(repeating: "x", count: task * 9)
                        let value = try? await server.send(
                            ValkeyCommand("ECHO", text), within: .milliseconds(500))
                        if let value { #expect(value == .bytes(Data(text.utf8))) }
                        return value != nil
                    }
                }
                for await isAnswered in group {
                    if isAnswered { answers += 1 } else { failures += 1 }
                }
            }
        }
        #expect(proxy.cuts > 0)
        #expect(answers > 0)
        #expect(failures > 0)
        proxy.faults = .init()
        try await recover(server)
    }

    @Test("The new primary is found after a failover, whoever was given first")
    func failover() async throws {
        let pair = try ValkeyPair()
        let url = "redis://127.0.0.1:\(pair.second.port),127.0.0.1:\(pair.first.port)"
        let server = try ValkeyServer(url: url)
        _ = try await server.send(ValkeyCommand("SET", "a", "1"), within: limit)
        #expect(try pair.first.command("GET", "a").text == "1")
        try pair.failOver()
        try await recover(server, ValkeyCommand("SET", "a", "2"))
        #expect(try pair.second.command("GET", "a").text == "2")
        // The first is a replica of the second by now; then it takes over after a crash.
        pair.second.kill()
        await #expect(throws: ClientError.self) {
            for _ in 0..<1000 {
                _ = try await server.send(ValkeyCommand("SET", "a", "3"), within: .milliseconds(50))
            }
        }
        try pair.promote(pair.first)
        try await recover(server, ValkeyCommand("SET", "a", "4"))
        #expect(try pair.first.command("GET", "a").text == "4")
    }

    @Test("A replica alone leads to its primary")
    func replica() async throws {
        let pair = try ValkeyPair()
        let server = try ValkeyServer(url: pair.second.url)
        _ = try await server.send(ValkeyCommand("SET", "a", "1"), within: limit)
        #expect(try pair.first.command("GET", "a").text == "1")
    }

    @Test("An error of a script that quotes READONLY, as before Redis 7, leads to the primary")
    func quotedFailover() async throws {
        let primary = try ValkeyPeer()
        let port = primary.port
        let isReplica = Atomic(false)
        let old = try ScriptedServer { words in
            switch words[0] {
            case "CLUSTER": return "-ERR This instance has cluster support disabled"
            case "PING": return "+PONG"
            case "ROLE":
                return isReplica.load(ordering: .sequentiallyConsistent)
                    ? "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:\(port)\r\n$9\r\nconnected\r\n:1"
                    : "*3\r\n$6\r\nmaster\r\n:1\r\n*0"
            case "EVALSHA": return "-NOSCRIPT No matching script."
            case "EVAL":
                isReplica.store(true, ordering: .sequentiallyConsistent)
                return "-ERR Error running script (call to f_0123456789): @user_script:1: "
                    + "-READONLY You can't write against a read only replica. "
            default: return "-ERR unknown command"
            }
        }
        let server = try ValkeyServer(url: "redis://127.0.0.1:\(old.port)")
        let script = ValkeyScript("return redis.call('SET', KEYS[1], ARGV[1])")
        await expectError(.validation) {
            try await server.run(script, keys: ["a"], arguments: [Data("1".utf8)], within: limit)
        }
        try await recover(server)
        _ = try await server.run(script, keys: ["a"], arguments: [Data("2".utf8)], within: limit)
        #expect(try primary.command("GET", "a").text == "2")
        #expect(old.commands.count { $0 == "EVAL" } == 1)
    }
}
