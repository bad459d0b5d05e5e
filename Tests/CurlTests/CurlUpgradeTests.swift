// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Upgraded connections over libcurl", .timeLimit(.minutes(1)))
struct CurlUpgradeTests {
    @Test("Bytes go both ways, and those behind the head are the first")
    func bothWays() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/", TestAnswer.echoing(first: "early"))
        let response = try await fixture.client.upgrading().response()
        #expect(response.status == 101)
        let connection = try #require(response.upgradedConnection)
        #expect(try await connection.read(upTo: 100) == Data("early".utf8))
        try await connection.write(Data("hello".utf8))
        #expect(try await connection.read(upTo: 100) == Data("hello".utf8))
        try await connection.finishWriting()
        #expect(try await connection.read(upTo: 100) == nil)
        let request = try #require(fixture.server.requests.first)
        #expect(request.headers[.upgrade] == "echo" && request.headers[.connection] == "Upgrade")
    }

    @Test("Content larger than all buffers arrives whole, both ways")
    func large() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/", TestAnswer.echoing())
        let connection = try await fixture.client.upgraded()
        let sent = Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        async let writing: Void = {
            for start in stride(from: 0, to: sent.count, by: 100_000) {
                try await connection.write(sent[start..<(start + 100_000)])
            }
        }()
        var got = Data()
        while got.count < sent.count, let bytes = try await connection.read(upTo: 50_000) {
            got += bytes
        }
        try await writing
        #expect(got == sent)
    }

    @Test("Another status is an ordinary answer, with its content")
    func refused() async throws {
        let fixture = try CurlFixture()
        fixture.server.route(
            "/", .status(401, body: Data("who".utf8)),
            .chunked([Data("not ".utf8), Data("now".utf8)], status: 503))
        for (status, text) in [(401, "who"), (503, "not now")] {
            let response = try await fixture.client.upgrading().response()
            #expect(response.status.code == status && response.upgradedConnection == nil)
            #expect(try await response.body.collect(upTo: 100) == Data(text.utf8))
        }
        try await fixture.server.wait { $0.open == 0 }
    }

    @Test(
        "A switch that lacks Upgrade, or whose Connection does not name it, is refused",
        arguments: ["Upgrade: echo", "Connection: Upgrade", "Upgrade: echo\r\nConnection: close"])
    func halfASwitch(fields: String) async throws {
        let fixture = try CurlFixture()
        let head = "HTTP/1.1 101 x\r\n\(fields)\r\n\r\n"
        fixture.server.route("/", .raw(Data(head.utf8), closes: false))
        await expectError(.protocol) { try await fixture.client.upgraded() }
        try await fixture.server.wait { $0.open == 0 }
    }

    @Test(
        "A response whose frame is endless is too large",
        arguments: [
            "0\r\n" + String(repeating: "a: b\r\n", count: 200_000),
            String(repeating: "1;\(String(repeating: "x", count: 10_000))\r\na\r\n", count: 110),
        ])
    func endlessFrame(content: String) async throws {
        let fixture = try CurlFixture()
        let head = "HTTP/1.1 503 x\r\nTransfer-Encoding: chunked\r\n\r\n"
        fixture.server.route("/", .raw(Data((head + content).utf8), closes: false))
        await expectError(.tooLarge) { try await fixture.client.upgraded() }
        try await fixture.server.wait { $0.open == 0 }
    }

    @Test("Tasks on the connection's executor run on the thread that waits, while it runs")
    func executor() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/", TestAnswer.echoing())
        let connection = try await fixture.client.upgraded()
        let executor = try #require(connection.executor)
        @Sendable func name() -> String? { Thread.current.name }
        try await withTaskExecutorPreference(executor) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        #expect(name() == "turnpike.socket")
                        for _ in 0..<10 { await Task.yield() }
                        let echoes = try await fixture.client.upgraded().echoes()
                        #expect(echoes)
                        #expect(name() == "turnpike.socket")
                    }
                }
                try await group.waitForAll()
            }
        }
        let calls = try await withTaskExecutorPreference(executor) {
            #expect(try await connection.echoes(String(repeating: "0123456789", count: 50_000)))
            connection.close()
            // The connection is gone, and soon its thread too; the task goes on elsewhere.
            for _ in 0..<1000 { await Task.yield() }
            return try await fixture.client.upgraded().echoes()
        }
        #expect(calls)
    }

    @Test("Closing, letting go, cancelling and shutting down end the connection for the server")
    func ends() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/", TestAnswer.echoing())
        let closed = try await fixture.client.upgraded()
        closed.close()
        _ = try await fixture.client.upgrading().response()
        try await fixture.server.wait { $0.accepted == 2 && $0.open == 0 }
        let held = try await fixture.client.upgraded()
        fixture.client.cancelAll()
        try await fixture.server.wait { $0.open == 0 }
        await expectError(.connection) { try await held.read(upTo: 10) }
        let last = try await fixture.client.upgraded()
        await fixture.client.shutdown(grace: .milliseconds(1))
        try await fixture.server.wait { $0.accepted == 4 && $0.open == 0 }
        await expectError(.connection) { try await last.write(Data([1])) }
    }

    @Test("An address rule may cancel its own call")
    func ruleThatCancels() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/", TestAnswer.echoing())
        var call = fixture.client.upgrading()
        call.request.options.addressRule = AddressRule { _ in
            fixture.client.cancelAll()
            return true
        }
        let asking = call
        await #expect(throws: (any Error).self) { try await asking.response() }
        #expect(fixture.server.counts.requests == 0)
        #expect(try await fixture.client.upgrading().response().status == 101)
    }

    @Test("A send that fails ends the connection at once; what had come before is still read")
    func failedSend() async throws {
        let fixture = try CurlFixture { $0.maxConnectionsPerHost = 1 }
        fixture.server.route("/", .upgrade(to: "echo", first: Data("why".utf8)) { _ in })
        let connection = try await fixture.client.upgraded()
        try await fixture.server.wait { $0.open == 0 }
        await expectError(.connection) {
            // The system takes the first bytes, and learns by them that the server has gone.
            while true { try await connection.write(Data([1])) }
        }
        // Its place is free, though it is neither read nor closed.
        _ = try await fixture.client.upgraded()
        #expect(try await connection.read(upTo: 100) == Data("why".utf8))
        await expectError(.connection) { try await connection.read(upTo: 100) }
    }

    @Test("A server that goes away ends the waits to write and to read")
    func waitingEnds() async throws {
        let fixture = try CurlFixture()
        fixture.server.route("/", .upgrade(to: "echo") { _ = $0.read() })
        let connection = try await fixture.client.upgraded()
        async let reading = (try? await connection.read(upTo: 10))?.count
        await expectError(.connection) { try await connection.write(Data(count: 32_000_000)) }
        #expect(await reading == nil)
        await expectError(.connection) { try await connection.write(Data([1])) }
    }
}

extension Client {
    /// A call that asks for the protocol `echo`.
    func upgrading(_ target: Target = "/") -> Call {
        var call = get(target)
        call.request.options.upgrade = "echo"
        return call
    }

    /// The connection that such a call gets.
    func upgraded(_ target: Target = "/") async throws -> UpgradedConnection {
        let response = try await upgrading(target).response()
        return try #require(response.upgradedConnection, "the status is \(response.status)")
    }
}

extension TestAnswer {
    /// 101, then the bytes that come.
    static func echoing(first: String = "") -> TestAnswer {
        .upgrade(to: "echo", first: Data(first.utf8)) { peer in
            while let bytes = peer.read() { peer.write(bytes) }
        }
    }
}

extension UpgradedConnection {
    /// Whether bytes come back.
    func echoes(_ text: String = "hello") async throws -> Bool {
        try await write(Data(text.utf8))
        var got = Data()
        while got.count < text.utf8.count, let bytes = try await read(upTo: 1000) { got += bytes }
        return got == Data(text.utf8)
    }
}
