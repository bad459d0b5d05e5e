// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("Connections that are opened before they are needed")
struct CurlPrewarmTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/", .ok(text: "x"))
    }

    private func transport(
        _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configure(&configuration)
        return try CurlTransport(configuration: configuration)
    }

    private func request(_ path: String = "", _ method: HTTPMethod = .head) -> Request {
        Request(method, Target("\(server.url)\(path)"))
    }

    @Test("There are as many as asked for, and calls use them")
    func count() async throws {
        let transport = try transport()
        let hold = TestHold()
        server.route("/slow", .ok(text: "slow").held(by: hold))
        let warm = Task { try await transport.prewarm(request("slow"), connections: 5) }
        // All of them before the first answer.
        try await server.wait { $0.requests == 5 }
        hold.open()
        let prewarmed = try await warm.value
        #expect(prewarmed.connections == 5)
        #expect(prewarmed.failures.isEmpty)
        #expect(server.counts.accepted == 5)
        #expect(server.requests.allSatisfy { $0.method == "HEAD" })
        let client = Client(baseURL: server.target, transport: transport, stack: [])
        for _ in 0..<20 { _ = try await client.get("/").string() }
        #expect(server.counts.accepted == 5)
        await client.shutdown()
    }

    @Test("Those that are there already count, and only the others are opened")
    func again() async throws {
        let transport = try transport()
        let hold = TestHold()
        server.route("/slow", .ok(text: "slow").held(by: hold))
        let few = Task { try await transport.prewarm(request("slow"), connections: 2) }
        try await server.wait { $0.requests == 2 }
        hold.open()
        _ = try await few.value
        let second = TestHold()
        server.route("/again", .ok(text: "slow").held(by: second))
        let more = Task { try await transport.prewarm(request("again"), connections: 6) }
        try await server.wait { $0.requests == 8 }
        second.open()
        #expect(try await more.value.connections == 6)
        #expect(server.counts.accepted == 6)
        await transport.shutdown()
    }

    @Test("A GET whose content is read to its end leaves its connection")
    func content() async throws {
        let transport = try transport()
        server.route("/some", .bytes(60_000))
        #expect(try await transport.prewarm(request("some", .get), connections: 1).connections == 1)
        let client = Client(baseURL: server.target, transport: transport, stack: [])
        _ = try await client.get("/").string()
        #expect(server.counts.accepted == 1)
        server.route("/large", .bytes(100_000))
        let error = await #expect(throws: ClientError.self) {
            try await transport.prewarm(request("large", .get), connections: 1)
        }
        #expect(error?.code == .tooLarge)
        await client.shutdown()
    }

    @Test("A server that closes its connections says why none is there")
    func closing() async throws {
        let transport = try transport()
        server.route("/", .ok(text: "x", headers: ["Connection": "close"]))
        let error = await #expect(throws: ClientError.self) {
            try await transport.prewarm(request("", .get), connections: 2)
        }
        #expect(error?.code == .connection)
        #expect(error?.message.contains("closes the connection") == true)
    }

    @Test("Some that fail are told, and those that are there are counted")
    func partly() async throws {
        let transport = try transport()
        server.route("/", .ok(text: "x"), .reset, .ok(text: "x"), .reset)
        let prewarmed = try await transport.prewarm(request("", .get), connections: 3)
        #expect(prewarmed.connections == 2)
        #expect(prewarmed.failures.count == 1)
        await transport.shutdown()
    }

    @Test("Nobody there is an error, and so is one who does not answer in time")
    func absent() async throws {
        let transport = try transport()
        let error = await #expect(throws: ClientError.self) {
            try await transport.prewarm(
                Request(.head, "http://127.0.0.1:1/"), connections: 3)
        }
        #expect(error?.code == .connection)
        server.route("/silent", .silence)
        let late = await #expect(throws: ClientError.self) {
            try await transport.prewarm(
                request("silent"), connections: 3, within: .milliseconds(20))
        }
        #expect(late?.code == .deadlineExceeded)
        await transport.shutdown()
        let over = await #expect(throws: ClientError.self) {
            try await transport.prewarm(request(), connections: 3)
        }
        #expect(over?.code == .cancelled)
    }

    @Test("A task that is cancelled gives it up")
    func cancelled() async throws {
        let transport = try transport()
        server.route("/silent", .silence)
        let task = Task { try await transport.prewarm(request("silent"), connections: 3) }
        try await server.waitForRequests(3)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await server.wait { $0.open == 0 }
        await transport.shutdown()
    }

    @Test(
        "A number or a request that cannot be is told, and nothing is sent",
        arguments: [
            (0, HTTPMethod.head, "found 0 connections"), (65, .head, "found 65 connections"),
            (1, .post, "found POST"), (1, .delete, "found DELETE"),
        ])
    func mistakes(count: Int, method: HTTPMethod, text: String) async throws {
        let transport = try transport()
        let error = await #expect(throws: ClientError.self) {
            try await transport.prewarm(request("", method), connections: count)
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.hasPrefix(text) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("; expected ") == true)
        let invalid = await #expect(throws: ClientError.self) {
            try await transport.prewarm(Request(.head, "/relative"), connections: 1)
        }
        #expect(invalid?.code == .invalidRequest)
        #expect(server.counts.requests == 0)
    }
}
