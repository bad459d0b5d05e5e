// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeMiddleware
import TurnpikeValkeyCache

@testable import TurnpikeValkey

@Suite(
    "What a hostile server replies", .enabled(if: ValkeyPeer.isAvailable, "\(ValkeyPeer.need)"))
struct HostileReplyTests {
    private let limit = Duration.seconds(5)

    private func message(_ url: String, _ command: ValkeyCommand) async throws -> String {
        let server = try ValkeyServer(url: url)
        let error = await #expect(throws: ClientError.self) {
            try await server.send(command, within: limit)
        }
        return "\(error?.message ?? "") \(error.map { "\($0)" } ?? "")"
    }

    @Test(
        "A secret that a server repeats in an error is not printed",
        arguments: [
            "-ERR unknown command 'AUTH' 'ann' 's3cr3tPW'",
            "-ERR unknown command `AUTH`, with args beginning with: `s3cr3tPW`",
            "-WRONGPASS invalid username-password pair 's3cr3tPW'", "-s3cr3tPW", "-S3CR3TPW x",
            "-ERR {\"access_token\":\"s3cr3tPW\"}",
        ])
    func secrets(reply: String) async throws {
        let repeating = try ScriptedServer { _ in reply }
        let later = try ScriptedServer { words in
            words[0] == "SET" ? reply : words[0] == "PING" ? "+PONG" : "+OK"
        }
        for port in [repeating.port, later.port] {
            let text = try await message(
                "redis://ann:s3cr3tPW@127.0.0.1:\(port)", ValkeyCommand("SET", "k", "v"))
            #expect(!text.lowercased().contains("s3cr3tpw"), "\(text)")
        }
        // Not those of another caller on the same connection either.
        #expect(
            !"\(ValkeyValue.array([.error(String(reply.dropFirst()))]))".lowercased()
                .contains("s3cr3tpw"))
    }

    @Test("The kind of an error, and the sentences that servers have for it, are printed")
    func known() async throws {
        let server = try ScriptedServer { words in
            words[0] == "PING"
                ? "+PONG"
                : words[0] == "SET"
                    ? "-WRONGTYPE Operation against a key holding the wrong kind of value" : "+OK"
        }
        let text = try await message(
            "redis://127.0.0.1:\(server.port)", ValkeyCommand("SET", "k", "v"))
        #expect(text.contains("WRONGTYPE Operation against a key holding the wrong kind of value"))
    }

    @Test("Slots of more ranges than there are slots are none, and ranges count each slot once")
    func slots() throws {
        let node = ValkeyValue.array([.bytes(Data("h".utf8)), .integer(1)])
        func ranges(_ count: Int) -> ValkeyValue {
            .array(
                Array(
                    repeating: .array([.integer(0), .integer(16_383), node]), count: count))
        }
        let address = try #require(
            NodeAddress(named: "127.0.0.1", port: 1, by: .init(host: "h", port: 1)))
        #expect(SlotTable(ranges(1), by: address) != nil)
        #expect(SlotTable(ranges(2), by: address) == nil)
        #expect(SlotTable(ranges(170_000), by: address) == nil)
    }

    @Test("A count of replicas beyond all reason is refused")
    func replicas() async throws {
        let server = try ScriptedServer { words in
            words[0] == "PING"
                ? "+PONG" : words[0].hasPrefix("EVAL") ? ":9223372036854775807" : "+OK"
        }
        let store = try ValkeyServer(url: "redis://127.0.0.1:\(server.port)")
        let error = await #expect(throws: ClientError.self) {
            try await store.beat("a", of: "g", for: .seconds(3))
        }
        #expect(error?.code == .protocol)
    }

    @Test(
        "Pages of keys without an end are refused", .timeLimit(.minutes(1)),
        arguments: [["1"], ["1", "2", "3", "4", "5", "6", "7"], ["a"]])
    func cursors(cycle: [String]) async throws {
        let server = try ScriptedServer { words in
            guard words[0] == "SCAN" else { return words[0] == "PING" ? "+PONG" : "+OK" }
            let next = cycle[((cycle.firstIndex(of: words[1]) ?? -1) + 1) % cycle.count]
            return "*2\r\n$1\r\n\(next)\r\n*0"
        }
        let store = ValkeyStore(try ValkeyServer(url: "redis://127.0.0.1:\(server.port)"))
        let error = await #expect(throws: ClientError.self) { try await store.list() }
        #expect(error?.code == .protocol)
    }
}
