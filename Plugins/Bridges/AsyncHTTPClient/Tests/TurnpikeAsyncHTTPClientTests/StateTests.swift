// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import Testing
import Turnpike
import TurnpikeAsyncHTTPClient
import TurnpikeTesting

@Suite("What an exchange over async-http-client leaves behind", .timeLimit(.minutes(2)))
struct StateTests {
    @Test("A retry sends again what was not sent, and not what may have been")
    func retries() async throws {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        try await withBridge(configuration) { bridge in
            bridge.client.replace(stack: [.retry(attempts: 3)])
            bridge.server.route("/close", .close)
            let sent = try await failure {
                _ = try await bridge.content(bridge.client.post("close", body: .text("x")))
            }
            #expect(sent.attempts == 1)
            #expect(sent.transfer?.phase == .sending)
            #expect(bridge.server.counts.requests == 1)
            bridge.server.stop()
            let unsent = try await failure {
                _ = try await bridge.content(bridge.client.post("close", body: .text("x")))
            }
            #expect(unsent.code == .connection)
            #expect(unsent.attempts == 3)
            #expect(unsent.transfer?.isUnsent == true)
        }
    }

    @Test("The HTTPClient of a caller outlives the transport's shutdown")
    func outlives() async throws {
        let http = HTTPClient()
        let server = try TestServer()
        server.route("/", .ok(text: "fine"))
        server.route("/silence", .silence)
        let transport = AsyncHTTPClientTransport(http)
        let client = Client(baseURL: server.target, transport: transport, stack: [])
        let call = Task { try await client.get("silence").response() }
        try await server.waitForRequests(1)
        await transport.shutdown()
        let ended = try await failure { _ = try await call.value }
        #expect(ended.code == .cancelled)
        try await server.wait { $0.abandoned == 1 }
        let response = try await http.execute(
            HTTPClientRequest(url: server.url.absoluteString), timeout: .minutes(1))
        #expect(response.status == .ok)
        server.stop()
        try await http.shutdown()
    }

    @Test("An HTTPClient that was shut down first fails calls as cancelled, unsent")
    func shutDownFirst() async throws {
        let http = HTTPClient()
        let server = try TestServer()
        let client = Client(
            baseURL: server.target, transport: AsyncHTTPClientTransport(http), stack: [])
        try await http.shutdown()
        let error = try await failure { _ = try await client.get("/").response() }
        #expect(error.code == .cancelled)
        #expect(error.transfer?.isUnsent == true)
        await client.shutdown()
        server.stop()
    }

    @Test("A body outlives a transport that was let go of")
    func bodyOutlives() async throws {
        let server = try TestServer()
        let hold = TestHold()
        server.route("/", .chunked([Data("a".utf8), Data("b".utf8)], holding: hold, before: 1))
        func response() async throws -> Response {
            let client = Client(
                baseURL: server.target, transport: AsyncHTTPClientTransport(), stack: [])
            return try await client.get("/").response()
        }
        let body = try await response().body
        hold.open()
        #expect(try await body.collect(upTo: 10) == Data("ab".utf8))
        server.stop()
    }

    @Test("A reader that does not read holds the server back")
    func backPressure() async throws {
        try await withBridge { bridge in
            // The content is much larger than the system's buffers for a connection.
            let length = 1 << 27
            bridge.server.route("/", .bytes(Int64(length)))
            let response = try await bridge.client.get("/").response()
            var iterator = response.body.makeAsyncIterator()
            var count = try await iterator.next()?.count ?? 0
            // If no task reads, the server cannot write the remaining bytes.
            await #expect(throws: WaitExpired.self) {
                try await bridge.server.wait(limit: .seconds(1)) { $0.inFlight == 0 }
            }
            while let chunk = try await iterator.next() { count += chunk.count }
            #expect(count == length)
        }
    }

    @Test("The Host field has the brackets of an IPv6 address, and no standard port")
    func host() async throws {
        try await withBridge { bridge in
            bridge.server.fallback(.ok(text: "x"))
            _ = try await bridge.content(bridge.client.get("/"))
            let host = bridge.server.requests[0].headers.values(of: .host)
            #expect(host == ["127.0.0.1:\(bridge.server.port)"])
        }
    }

    @Test("What async-http-client cannot send is refused before anything is sent")
    func refused() async throws {
        try await withBridge { bridge in
            for call in [
                bridge.client.request(.trace, "/", body: .text("x")),
                bridge.client.request(HTTPMethod("CONNECT"), "/"),
            ] {
                let error = try await failure { _ = try await call.response() }
                #expect([.invalidRequest, .unsupported].contains(error.code))
            }
            #expect(bridge.server.counts.accepted == 0)
        }
    }
}
