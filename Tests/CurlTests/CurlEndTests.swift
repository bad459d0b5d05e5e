import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// That every way of giving a call up closes its connection, in the order that the server sees.
@Suite("The end of a transfer over libcurl")
struct CurlEndTests {
    private let server: TestServer
    private let client: Client

    init() throws {
        let fixture = try CurlFixture()
        server = fixture.server
        client = fixture.client
        server.route("/silence", .silence)
        server.route("/endless", .endless())
        server.route("/ok", .text("x"))
    }

    private func expectClose() async throws {
        await server.wait { $0.abandoned == 1 }
        #expect(try await client.get("ok").string() == "x", "the client goes on")
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

    @Test("Cancelling the task that waits for a head")
    func cancelBeforeHead() async throws {
        let call = Task { try await client.get("silence").data() }
        await server.waitForRequests(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await expectClose()
    }

    @Test("Cancelling a task before it begins opens no connection")
    func cancelBeforeBegin() async throws {
        let call = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await client.get("ok").data()
        }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(server.counts.accepted == 0)
    }

    @Test("Cancelling the task that reads a body")
    func cancelDuringBody() async throws {
        let read = AsyncStream.makeStream(of: Void.self)
        let call = Task {
            for try await _ in try await client.get("endless").response().body {
                read.continuation.yield()
            }
        }
        for await _ in read.stream.prefix(3) {}
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await expectClose()
    }

    @Test("Letting go of a response")
    func dropResponse() async throws {
        _ = try await client.get("endless").response()
        try await expectClose()
    }

    @Test("Letting go of an iterator while the response lives")
    func dropIterator() async throws {
        let response = try await client.get("endless").response()
        for try await _ in response.body { break }
        try await expectClose()
        withExtendedLifetime(response) {}
    }

    @Test("Letting go of a response that is being decoded")
    func dropDecoded() async throws {
        server.route("/coded", .endless().after(.zero))
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
        await server.wait { $0.open == 0 }
    }

    @Test(
        "A deadline, below a second too, before and in the body",
        arguments: ["silence", "drip", "endless"])
    func deadline(path: String) async throws {
        server.route("/drip", .drip(Data(count: 1000), every: .milliseconds(30)))
        let clock = ContinuousClock()
        let begin = clock.now
        let error = await #expect(throws: ClientError.self) {
            for try await _ in try await client.get(Target(path)).deadline(.milliseconds(300))
                .response().body
            {}
        }
        #expect(error?.code == .deadlineExceeded)
        #expect(clock.now - begin >= .milliseconds(300))
        try await expectClose()
    }

    @Test("Cancelling a handle, or letting go of it", arguments: [true, false])
    func handle(cancels: Bool) async throws {
        do {
            let running = client.get("silence").start(.data)
            await server.waitForRequests(1)
            if cancels { running.cancel() }
        }
        try await expectClose()
    }

    @Test(
        "Cancelling an upload that the server does not read",
        arguments: ["data", "stream", "known"])
    func upload(kind: String) async throws {
        server.route("/upload", .silence.withoutReading())
        let file = URL(filePath: "/nonexistent")
        // Below what an unread socket takes: behind more, the server would not see the end.
        let body = try RequestBody.of(kind, Data(count: 50_000), file: file)
        let call = Task {
            try await client.post("upload", body: body, headers: ["Expect": "100-continue"]).data()
        }
        await server.waitForRequests(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        // Content that it does not read may hide the close from the server.
        #expect(try await client.get("ok").string() == "x", "the client goes on")
        #expect(server.counts.accepted == 2)
    }

    @Test("Cancelling while the body's source is waited for")
    func waitingSource() async throws {
        let silence = AsyncStream.makeStream(of: Data.self)
        let body = RequestBody.stream(live: true) { silence.stream }
        let call = Task { try await client.post("ok", body: body).data() }
        silence.continuation.yield(Data("a".utf8))
        await server.wait { $0.open == 1 }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await server.wait { $0.open == 0 }
    }

    @Test("Shutting the client down")
    func shutdown() async throws {
        let call = Task { try await client.get("silence").data() }
        await server.waitForRequests(1)
        await client.shutdown()
        await #expect(throws: CancellationError.self) { try await call.value }
        await server.wait { $0.abandoned == 1 }
    }

    @Test("A client's grace lets a call come to its end, and then the connections are closed")
    func grace() async throws {
        let hold = TestHold()
        server.route("/held", .text("whole").held(by: hold))
        let call = Task { try await client.get("held").string() }
        await server.waitForRequests(1)
        let end = Task { await client.shutdown(grace: .seconds(60)) }
        while (try? await client.get("ok").data()) != nil { await Task.yield() }
        hold.open()
        #expect(try await call.value == "whole")
        await end.value
        await server.wait { $0.open == 0 }
    }

    @Test("A body that was read whole keeps its connection")
    func reuse() async throws {
        for _ in 0..<20 { _ = try await client.get("ok").string() }
        #expect(server.counts.accepted == 1)
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
        #expect(client.runningCallCount == 0)
    }
}
