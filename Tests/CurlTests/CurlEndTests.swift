// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// The ends that other transports do not have, or that libcurl makes in a way of its own.
@Suite("The end of a transfer over libcurl")
struct CurlEndTests {
    private let server: TestServer
    private let client: Client

    init() throws {
        let fixture = try CurlFixture()
        server = fixture.server
        client = fixture.client
        server.route("/endless", .endless())
        server.route("/ok", .ok(text: "x"))
    }

    @Test("After a transfer that was given up while it was paused another one is as good")
    func pausedEnd() async throws {
        for _ in 0..<3 {
            let endless = try await client.get("endless").response()
            // Meanwhile more of it has come than is kept.
            for _ in 0..<20 { #expect(try await client.get("ok").string() == "x") }
            endless.body.cancel()
            for _ in 0..<3 { #expect(try await client.get("ok").string() == "x") }
        }
    }

    @Test("Letting go of a response that is being decoded")
    func dropDecoded() async throws {
        server.route("/coded", .endless().delayed(by: .zero))
        let gzip = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
        server.route(
            "/coded",
            .raw(
                Data("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8) + gzip,
                closes: false))
        do {
            let response = try await client.get("coded").response()
            #expect(response.headers[.contentEncoding] == nil)
        }
        try await server.wait { $0.open == 0 }
    }

    @Test("Cancelling while the body's source is waited for")
    func waitingSource() async throws {
        let silence = AsyncStream.makeStream(of: Data.self)
        let body = RequestBody.stream(live: true) { silence.stream }
        let call = Task { try await client.post("ok", body: body).data() }
        silence.continuation.yield(Data("a".utf8))
        try await server.wait { $0.open == 1 }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await server.wait { $0.open == 0 }
    }

    @Test(
        "A client's grace lets a call come to its end, and then the connections are closed",
        .timeLimit(.minutes(1)))
    func grace() async throws {
        let hold = TestHold()
        server.route("/held", .ok(text: "whole").held(by: hold))
        let call = Task { try await client.get("held").string() }
        try await server.waitForRequests(1)
        let end = Task { await client.shutdown(grace: .seconds(60)) }
        while (try? await client.get("ok").data()) != nil { await Task.yield() }
        hold.open()
        #expect(try await call.value == "whole")
        await end.value
        try await server.wait { $0.open == 0 }
    }

    @Test("A call that is cancelled on its way to a transport which was shut down leaves nothing")
    func cancelBehindTheEnd() async throws {
        // Cancels the call when the transport opens its content, which is behind its last look.
        struct Cancelling: Interceptor {
            func intercept(
                _ request: Request, context: Context, next: Next
            ) async throws -> Response {
                var request = request
                request.body = .stream { [weak context] in
                    context?.cancel(.handle)
                    return Pieces(Data(count: 1))
                }
                return try await next(request)
            }
        }
        let transport = try CurlTransport()
        await transport.shutdown()
        let client = Client(
            baseURL: server.target, transport: transport, stack: [Cancelling()])
        await #expect(throws: CancellationError.self) { try await client.post("ok").data() }
        try await until("all calls to end") { client.runningCallCount == 0 }
    }
}
