// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike

@testable import TestSupport
@testable import TurnpikeValkey

/// A server that answers each connection with the same bytes, and may then close it.
private final class FixedServer: Sendable {
    let port: Int

    init(_ answer: [UInt8], closes: Bool, waitsForInput: Bool = true) throws {
        let listener = try LoopbackSocket.listening()
        port = listener.port
        let box = UncheckedBox(listener)
        Thread {
            var open: [Int32] = []
            while true {
                let fd = accept(box.value.descriptor, nil, nil)
                if fd < 0 { break }
                var buffer = [UInt8](repeating: 0, count: 4096)
                if waitsForInput { _ = unsafe recv(fd, &buffer, buffer.count, 0) }
                _ = unsafe send(
                    fd, answer, answer.count, Int32(truncatingIfNeeded: Int(MSG_NOSIGNAL)))
                if closes { close(fd) } else { open.append(fd) }
            }
            for fd in open { close(fd) }
        }.start()
    }
}

@Suite("What a server refuses", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyBadInputTests {
    private let limit = Duration.seconds(5)

    private func expectError(
        _ url: String, _ code: ClientError.Code, _ parts: [String],
        command: ValkeyCommand = ValkeyCommand("GET", "a")
    ) async throws {
        let server = try ValkeyServer(url: url)
        // Once when connecting fails, and once because it has failed.
        for _ in 0..<2 {
            let error = await #expect(throws: ClientError.self) {
                try await server.send(command, within: limit)
            }
            #expect(error?.code == code, "\(error?.message ?? "")")
            for part in parts {
                #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
            }
            #expect(error?.message.contains("hunter2") == false)
            #expect(error?.message.contains("\n") == false)
        }
    }

    @Test("A wrong password, a missing one, and one too many")
    func passwords() async throws {
        let peer = try ValkeyPeer(password: "right")
        try await expectError(
            "redis://:hunter2@127.0.0.1:\(peer.port)", .auth, ["WRONGPASS", "check the user"])
        try await expectError(
            "redis://ann:hunter2@127.0.0.1:\(peer.port)", .auth, ["WRONGPASS", "check the user"])
        try await expectError(
            "redis://127.0.0.1:\(peer.port)", .auth, ["NOAUTH", "redis://user:password@host"])
        let open = try ValkeyPeer()
        try await expectError(
            "redis://:hunter2@127.0.0.1:\(open.port)", .auth, ["remove the password from the URL"])
    }

    @Test("A database that does not exist")
    func database() async throws {
        let peer = try ValkeyPeer()
        try await expectError(
            "redis://127.0.0.1:\(peer.port)/99", .configuration, ["end the URL with /0"])
    }

    @Test("A user that may not run scripts, and one that may do little else")
    func rules() async throws {
        let peer = try ValkeyPeer()
        try peer.command("ACL", "SETUSER", "ann", "on", ">a", "~*", "+@all", "-@scripting")
        let ann = try ValkeyServer(url: "redis://ann:a@127.0.0.1:\(peer.port)")
        let script = ValkeyScript("return 1")
        let error = await #expect(throws: ClientError.self) {
            try await ann.run(script, keys: ["k"], arguments: [], within: limit)
        }
        #expect(error?.code == .auth)
        #expect(error?.message.contains("NOPERM") == true)
        #expect(error?.message.contains("+eval +evalsha") == true, "\(error?.message ?? "")")
        try peer.command("ACL", "SETUSER", "bob", "on", ">b", "~*", "+eval", "+evalsha")
        let bob = try ValkeyServer(url: "redis://bob:b@127.0.0.1:\(peer.port)")
        let other = ValkeyScript("return 2")
        for _ in 0..<3 {
            let value = try await bob.run(other, keys: ["k"], arguments: [], within: limit)
            #expect(value == .integer(2))
        }
    }

    @Test("A user that may run scripts, but not what they do")
    func rulesOfScripts() async throws {
        let peer = try ValkeyPeer()
        try peer.command("ACL", "SETUSER", "cay", "on", ">c", "~k", "+eval", "+evalsha", "+set")
        let server = try ValkeyServer(url: "redis://cay:c@127.0.0.1:\(peer.port)")
        for (key, source) in [
            ("k", "return redis.call('GET', KEYS[1])"),
            ("other", "return redis.call('SET', KEYS[1], '1')"),
        ] {
            let error = await #expect(throws: ClientError.self) {
                try await server.run(
                    ValkeyScript(source), keys: [key], arguments: [], within: limit)
            }
            #expect(error?.code == .auth, "\(error?.message ?? "")")
            #expect(error?.message.contains("ACL SETUSER") == true, "\(error?.message ?? "")")
        }
        // As Redis 7.2 and Valkey 8 say it.
        for text in [
            "ERR ACL failure in script: User cay has no permissions to run the 'get' command",
            "NOPERM ACL failure in script: No permissions to access a key",
        ] {
            let error = ValkeyFault.refused(text, name: "EVALSHA", at: nil)
            #expect(error.code == .auth)
            #expect(error.message.contains("ACL SETUSER") && !error.message.contains("+evalsha"))
        }
        let other = ValkeyFault.refused("ERR ACL failure in script: x", name: "GET", at: nil)
        #expect(other.code == .validation)
    }

    @Test(
        "A server that cannot serve now is told as such",
        arguments: [
            ("LOADING Redis is loading the dataset in memory", "try again"),
            ("MASTERDOWN Link with MASTER is down", "its primary"),
            ("CLUSTERDOWN The cluster is down", "CLUSTER INFO"),
            ("TRYAGAIN Multiple keys request during rehashing of slot", "is being moved"),
            ("BUSY Redis is busy running a script", "SCRIPT KILL"),
        ])
    func notNow(text: String, advice: String) {
        let error = ValkeyFault.refused(text, name: "GET", at: nil)
        #expect(error.code == .connection)
        #expect(error.message.contains(advice), "\(error.message)")
    }

    @Test("A key of another type, full memory, and an unknown command")
    func refusals() async throws {
        let peer = try ValkeyPeer()
        try peer.command("LPUSH", "a", "1")
        let url = peer.url
        try await expectError(url, .validation, ["WRONGTYPE", "another program uses the key"])
        try await expectError(
            url, .validation, ["ERR unknown command"],
            command: ValkeyCommand("hunter", "hunter2"))
        try peer.command("CONFIG", "SET", "maxmemory", "1")
        try await expectError(
            url, .overloaded, ["OOM", "raise maxmemory"], command: ValkeyCommand("SET", "b", "1"))
        let server = try ValkeyServer(url: url)
        let nameless = await #expect(throws: ClientError.self) {
            try await server.send(ValkeyCommand([]), within: limit)
        }
        #expect(nameless?.code == .invalidRequest)
    }

    @Test("A server that is none")
    func others() async throws {
        let web = try FixedServer(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), closes: true)
        try await expectError(
            "redis://127.0.0.1:\(web.port)", .protocol, ["is a web server"])
        let tls = try FixedServer([0x15, 3, 1, 0, 2, 2, 0x46], closes: true)
        try await expectError(
            "redis://127.0.0.1:\(tls.port)", .tls, ["expects TLS", "rediss://"])
        let closing = try FixedServer([], closes: true)
        try await expectError(
            "redis://127.0.0.1:\(closing.port)", .connection, ["before it answered", "rediss://"])
        let ssh = try FixedServer(
            Array("SSH-2.0-x\r\n".utf8), closes: false, waitsForInput: false)
        try await expectError(
            "redis://127.0.0.1:\(ssh.port)", .protocol, ["does not speak the protocol"])
        let denied = try FixedServer(
            Array("-DENIED Redis is running in protected mode\r\n".utf8), closes: true)
        try await expectError(
            "redis://127.0.0.1:\(denied.port)", .auth, ["protected mode", "requirepass"])
        let full = try FixedServer(
            Array("-ERR max number of clients reached\r\n".utf8), closes: true)
        for login in ["", ":hunter2@"] {
            try await expectError(
                "redis://\(login)127.0.0.1:\(full.port)", .connection, ["raise", "maxclients"])
        }
        let loading = try FixedServer(
            Array("-ERR a\r\n-ERR b\r\n-LOADING Redis is loading\r\n".utf8), closes: false)
        try await expectError(
            "redis://127.0.0.1:\(loading.port)", .connection, ["LOADING", "the client tries again"])
        let sentinel = try FixedServer(
            Array("-ERR a\r\n*1\r\n$8\r\nsentinel\r\n+PONG\r\n".utf8), closes: false)
        try await expectError(
            "redis://127.0.0.1:\(sentinel.port)", .configuration, ["is a sentinel"])
    }

    @Test("Nobody listens, or the host is none")
    func absence() async throws {
        let port = try LoopbackSocket.freePort()
        try await expectError(
            "redis://127.0.0.1:\(port)", .connection, ["is the server running there?"])
        try await expectError(
            "redis://no-such-host.invalid:\(port)", .dns, ["could not be found"])
        try await expectError(
            "unix:///nonexistent/redis.sock", .connection, ["is the server running there?"])
    }

    @Test("A reply beyond a limit ends the connection, and the next one works")
    func largeReply() async throws {
        let peer = try ValkeyPeer()
        var configuration = ValkeyServer.Configuration()
        configuration.maxReplyBytes = 10_000
        let server = try ValkeyServer(url: peer.url, configuration: configuration)
        let text = String(repeating: "x", count: 20_000)
        _ = try await server.send(ValkeyCommand("SET", "a", text), within: limit)
        let error = await #expect(throws: ClientError.self) {
            try await server.send(ValkeyCommand("GET", "a"), within: limit)
        }
        #expect(error?.code == .protocol)
        #expect(error?.message.contains("a reply has too many bytes") == true)
        #expect(
            try await server.send(ValkeyCommand("STRLEN", "a"), within: limit) == .integer(20_000))
    }
}
