// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

@Suite("Server-sent events")
struct ServerSentEventsTests {
    private static func stream(
        _ text: String, chunk: Int = 1000, failure: (any Error)? = nil, status: HTTPStatus = 200,
        type: String = "text/event-stream"
    ) -> ScriptedTransport.Answer {
        { request in
            Response(
                to: request, status: status, headers: ["Content-Type": type],
                body: body(text, chunk: chunk, failure: failure))
        }
    }

    private func client(
        _ transport: ScriptedTransport, _ clock: any TimeSource = ManualClock(),
        _ gates: any Gate...
    ) -> Client {
        Client(
            transport: transport, stack: Stack(gates), serializers: .standard, timeSource: clock)
    }

    private func events(
        _ text: String, chunk: Int = 1000
    ) async -> (items: [ServerSentEvent], error: (any Error)?) {
        await all(
            client(ScriptedTransport(Self.stream(text, chunk: chunk))).get(anywhere)
                .events(reconnects: 0))
    }

    // A search that begins anew with each line would take minutes.
    @Test("Lines that end with CR are found in time linear in the chunk", .timeLimit(.minutes(1)))
    func carriageReturns() async {
        let comment = ":" + String(repeating: "x", count: 62) + "\r"
        let text = String(repeating: comment, count: 262_144) + "data: a\r\r"
        #expect(await events(text, chunk: .max).items == [ServerSentEvent(data: "a")])
    }

    @Test(
        "Events are parsed by WHATWG HTML §9.2, however the bytes are cut",
        arguments: [
            ("data: a\n\n", [ServerSentEvent(data: "a")]),
            (
                "data:a\r\n\r\ndata:  b\r\rdata\n\n",
                [
                    ServerSentEvent(data: "a"), ServerSentEvent(data: " b"),
                    ServerSentEvent(data: ""),
                ]
            ),
            ("data: a\ndata:\ndata: b\n\n", [ServerSentEvent(data: "a\n\nb")]),
            (
                "event: add\nid: 7\ndata: x\n\ndata: y\n\n",
                [
                    ServerSentEvent(id: "7", type: "add", data: "x"),
                    ServerSentEvent(id: "7", data: "y"),
                ]
            ),
            (": comment\nunknown: x\ndata: a: b\n\n", [ServerSentEvent(data: "a: b")]),
            ("\u{FEFF}data: a\n\n", [ServerSentEvent(data: "a")]),
            ("event: only\n\nid: 9\n\ndata: z\n\n", [ServerSentEvent(id: "9", data: "z")]),
            (
                "id: 1\ndata: a\n\nid: b\u{0}\ndata: b\n\nid\ndata: c\n\n",
                [
                    ServerSentEvent(id: "1", data: "a"), ServerSentEvent(id: "1", data: "b"),
                    ServerSentEvent(data: "c"),
                ]
            ),
            (
                "retry: 250\ndata: a\n\nretry: 1x\ndata: b\n\n",
                [
                    ServerSentEvent(data: "a", retry: .milliseconds(250)),
                    ServerSentEvent(data: "b"),
                ]
            ),
            (
                "retry: 123456789\ndata: a\n\nretry: 1234567890\ndata: b\n\n",
                [
                    ServerSentEvent(data: "a", retry: .milliseconds(123_456_789)),
                    ServerSentEvent(data: "b"),
                ]
            ),
            ("data: whole\n\ndata: half", [ServerSentEvent(data: "whole")]),
            ("data: half\n", []), ("", []), ("\n\n\n", []),
        ] as [(String, [ServerSentEvent])])
    func parsing(text: String, expected: [ServerSentEvent]) async {
        for chunk in [1, 2, 5, 1000] {
            let (events, error) = await events(text, chunk: chunk)
            #expect(events == expected, "in chunks of \(chunk)")
            #expect(error == nil)
        }
    }

    @Test("Bytes that are not UTF-8 are replaced, not refused")
    func invalidText() async {
        let transport = ScriptedTransport({ request in
            let content = Data("data: a".utf8) + Data([0xFF]) + Data("b\n\n".utf8)
            return Response(
                to: request, status: 200, headers: ["Content-Type": "text/event-stream"],
                body: ResponseBody(content))
        })
        let (events, _) = await all(client(transport).get(anywhere).events(reconnects: 0))
        #expect(events.map(\.data) == ["a\u{FFFD}b"])
    }

    @Test("A line, and an event of many lines, are refused at the limit")
    func limits() async {
        struct Short: Interceptor {
            func intercept(
                _ request: Request, context: Context, next: Next
            ) async throws -> Response {
                context[LineLimit.self] = 50
                return try await next(request)
            }
        }
        let long = "data: a\n\ndata: " + String(repeating: "x", count: 50) + "\n\n"
        let many = "data: a\n\n" + String(repeating: "data: 0123456789\n", count: 6) + "\n"
        for text in [long, many] {
            let transport = ScriptedTransport(Self.stream(text))
            let events = client(transport, ManualClock(), Short()).get(anywhere)
            let (items, error) = await all(events.events(reconnects: 3))
            #expect(items.map(\.data) == ["a"])
            #expect((error as? ClientError)?.code == .tooLarge)
            #expect(transport.requests.count == 1)
        }
    }

    @Test("The request asks for an event stream, without a cache")
    func request() async {
        let transport = ScriptedTransport(Self.stream(""))
        _ = await all(client(transport).get(anywhere).events(reconnects: 0, lastEventID: "41"))
        let headers = transport.requests.first?.headers
        #expect(headers?[.accept] == "text/event-stream")
        #expect(headers?[.cacheControl] == "no-store")
        #expect(headers?[.lastEventID] == "41")
    }

    @Test("A stream that ends or breaks off reconnects after its last complete event")
    func reconnects() async throws {
        let clock = ManualClock()
        let lost = ClientError(.incomplete, "lost")
        let transport = ScriptedTransport(
            Self.stream("id: 1\ndata: a\n\nid: 2\ndata: half"),
            Self.stream("data: b\n\nid: 3\ndata: c\n\n", failure: lost),
            { _ in throw ClientError(.connection, "refused") }, Self.stream("data: d\n\n"))
        let events = client(transport, clock).get(anywhere).events(reconnects: 3)
        async let result = all(events)
        // The waits: 3 s twice, each behind an event; then doubled, behind none.
        for wait in [Duration.seconds(3), .seconds(3), .seconds(6)] {
            try await clock.waitForTimer(in: wait)
            clock.advance(by: wait)
        }
        let (items, error) = await result
        #expect(items.map(\.data) == ["a", "b", "c", "d"])
        #expect(items.map(\.id) == ["1", "1", "3", "3"])
        #expect(error == nil)
        #expect(transport.requests.map { $0.headers[.lastEventID] } == [nil, "1", "3", "3"])
    }

    /// A stream that says what it is told, and does not end.
    private static func open() -> (ScriptedTransport.Answer, AsyncStream<Data>.Continuation) {
        let (chunks, continuation) = AsyncStream.makeStream(of: Data.self)
        let answer: ScriptedTransport.Answer = { request in
            Response(
                to: request, status: 200, headers: ["Content-Type": "text/event-stream"],
                body: ResponseBody(chunks))
        }
        return (answer, continuation)
    }

    /// Lets a reader who waits hear something, and wait once more.
    private func say(
        _ text: String, _ stream: AsyncStream<Data>.Continuation, _ clock: ManualClock
    ) async throws {
        try await clock.waitForTimer(in: .seconds(20))
        // So that the next wait's timer can be told from this one's.
        clock.advance(by: .seconds(15))
        stream.yield(Data(text.utf8))
        try await clock.waitForTimer(in: .seconds(20))
    }

    @Test("A stream that falls silent reconnects after its last event")
    func idle() async throws {
        let clock = ManualClock()
        let (open, stream) = Self.open()
        let transport = ScriptedTransport(open, Self.stream("data: b\n\n"))
        let call = client(transport, clock).get(anywhere)
        async let result = all(call.events(reconnects: 1, idleLimit: .seconds(20)))
        try await say("id: 7\ndata: a\n\nretry: 1000\n", stream, clock)
        // A comment is a sign of life.
        try await say(": alive\n", stream, clock)
        clock.advance(by: .seconds(20) - .nanoseconds(1))
        #expect(transport.requests.count == 1)
        clock.advance(by: .nanoseconds(1))
        try await clock.waitForTimer(in: .seconds(1))
        clock.advance(by: .seconds(1))
        let (items, error) = await result
        #expect(items.map(\.data) == ["a", "b"] && error == nil)
        #expect(transport.requests.map { $0.headers[.lastEventID] } == [nil, "7"])
        #expect(clock.timerCount == 0)
    }

    @Test("Without reconnections a silence is the error; without a limit there is none")
    func idleEnd() async throws {
        let clock = ManualClock()
        let (open, stream) = Self.open()
        let limited = client(ScriptedTransport(open), clock).get(anywhere)
        async let result = all(limited.events(reconnects: 0, idleLimit: .seconds(20)))
        try await say("data: a\n\n", stream, clock)
        clock.advance(by: .seconds(20))
        let (items, error) = await result
        #expect(items.map(\.data) == ["a"])
        #expect((error as? ClientError)?.code == .idleTimeout)
        let (other, rest) = Self.open()
        rest.yield(Data("data: a\n\n".utf8))
        let events = client(ScriptedTransport(other), clock).get(anywhere).events()
        for try await event in events {
            #expect(event.data == "a" && clock.timerCount == 0)
            break
        }
    }

    @Test("When no reconnection is left, the error stands")
    func exhausted() async {
        let transport = ScriptedTransport(
            Self.stream("data: a\n\n", failure: ClientError(.incomplete, "lost")))
        let (items, error) = await all(client(transport).get(anywhere).events(reconnects: 0))
        #expect(items.map(\.data) == ["a"])
        #expect((error as? ClientError)?.code == .incomplete)
    }

    @Test(
        "An error that a reconnection cannot fix is thrown at once",
        arguments: [
            (stream("", status: 500), .validation), (stream("", status: 201), .validation),
            (stream("", type: "text/plain"), .serialization),
        ] as [(ScriptedTransport.Answer, ClientError.Code)])
    func final(answer: @escaping ScriptedTransport.Answer, code: ClientError.Code) async {
        let transport = ScriptedTransport(answer)
        let (items, error) = await all(client(transport).get(anywhere).events(reconnects: 5))
        #expect(items.isEmpty)
        #expect((error as? ClientError)?.code == code)
        #expect(transport.requests.count == 1)
    }

    @Test("204 ends the stream")
    func noContent() async {
        let transport = ScriptedTransport(Self.stream("", status: 204))
        let (items, error) = await all(client(transport).get(anywhere).events())
        #expect(items.isEmpty)
        #expect(error == nil)
        #expect(transport.requests.count == 1)
    }

    @Test("An unsafe method is sent once, unless the call is retryable")
    func unsafeMethods() async throws {
        let lost = ClientError(.incomplete, "lost")
        let post = { (transport: ScriptedTransport, clock: any TimeSource) in
            client(transport, clock).post(anywhere, body: RequestBody.data(Data("{}".utf8)))
        }
        let whole = ScriptedTransport(Self.stream("data: a\n\n"))
        let (items, error) = await all(post(whole, ManualClock()).events(reconnects: 2))
        #expect(items.map(\.data) == ["a"] && error == nil)
        #expect(whole.requests.count == 1)

        let broken = ScriptedTransport(Self.stream("id: 1\ndata: a\n\n", failure: lost))
        let (others, failure) = await all(post(broken, ManualClock()).events())
        #expect(others.map(\.data) == ["a"])
        #expect((failure as? ClientError)?.code == .incomplete)
        #expect(broken.requests.count == 1)

        let clock = ManualClock()
        let vouched = ScriptedTransport(
            Self.stream("id: 1\ndata: a\n\n"), Self.stream("data: b\n\n"),
            Self.stream("", status: 204), Self.stream("data: c\n\n"))
        async let result = all(post(vouched, clock).retryable().events(reconnects: 9))
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(3))
            clock.advance(by: .seconds(3))
        }
        #expect(await result.items.map(\.data) == ["a", "b"])
        #expect(vouched.requests.map { $0.headers[.lastEventID] } == [nil, "1", "1"])
    }

    @Test("A request that was not sent is sent again, whatever its method")
    func unsent() async throws {
        let clock = ManualClock()
        let transport = ScriptedTransport(
            { _ in
                throw ClientError(.connection, "refused", transfer: TransferState(.connecting))
            }, Self.stream("data: a\n\n"))
        let call = client(transport, clock).post(anywhere, body: RequestBody.data(Data("{}".utf8)))
        async let result = all(call.events(reconnects: 2))
        try await clock.waitForTimer(in: .seconds(3))
        clock.advance(by: .seconds(3))
        #expect(await result.items.map(\.data) == ["a"])
        #expect(transport.requests.count == 2)
    }

    @Test(
        "A GET is not sent again if the caller forbids it, or after the reader has stopped"
    )
    func finished() async throws {
        let transport = ScriptedTransport(Self.stream("data: a\n\n"), Self.stream("data: b\n\n"))
        let call = client(transport).get(anywhere)
        #expect(await all(call.retryable(false).events()).items.map(\.data) == ["a"])
        #expect(transport.requests.count == 1)
        let clock = ManualClock()
        let other = ScriptedTransport(Self.stream("data: a\n\n"), Self.stream("data: b\n\n"))
        for try await event in client(other, clock).get(anywhere).events() {
            #expect(event.data == "a")
            break
        }
        clock.advance(by: .seconds(600))
        #expect(other.requests.count == 1 && clock.timerCount == 0)
    }

    @Test("An empty id removes the last one, also the caller's")
    func emptyID() async throws {
        let clock = ManualClock()
        let transport = ScriptedTransport(
            Self.stream("id: 5\n"),
            Self.stream("id: 1\ndata: a\n\nid\ndata: b\n\nid: 2\ndata: half"),
            Self.stream("", status: 204))
        let call = client(transport, clock).get(anywhere).header(.lastEventID, "0")
        async let result = all(call.events(reconnects: 2))
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(3))
            clock.advance(by: .seconds(3))
        }
        #expect(await result.items.map(\.id) == ["1", ""])
        #expect(transport.requests.map { $0.headers[.lastEventID] } == ["0", "0", nil])
    }

    @Test("An id that is not a valid field value belongs to the event, but is not sent")
    func unsendableID() async throws {
        let clock = ManualClock()
        let transport = ScriptedTransport(
            Self.stream("id: 1\ndata: a\n\nid: x\u{1}y\ndata: b\n\n"), Self.stream("data: c\n\n"),
            Self.stream("", status: 204))
        let events = client(transport, clock).get(anywhere).events(reconnects: 3)
        async let result = all(events)
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(3))
            clock.advance(by: .seconds(3))
        }
        let (items, error) = await result
        #expect(items.map(\.id) == ["1", "x\u{1}y", "x\u{1}y"])
        #expect(error == nil)
        #expect(transport.requests.map { $0.headers[.lastEventID] } == [nil, nil, nil])
        let given = client(transport).get(anywhere).events(reconnects: 3, lastEventID: "x\ny")
        #expect((await all(given).error as? ClientError)?.code == .invalidRequest)
    }

    @Test(
        "A stream that waits to reconnect is listed, and ended with the other calls",
        arguments: [true, false])
    func waiting(shutsDown: Bool) async throws {
        let clock = ManualClock()
        let transport = ScriptedTransport(Self.stream("data: a\n\n"))
        let client = client(transport, clock)
        async let result = all(client.get(anywhere).events())
        try await clock.waitForTimer(in: .seconds(3))
        #expect(client.runningCalls.map { $0.request?.method } == [.get])
        if shutsDown {
            async let end: Void = client.shutdown(grace: .milliseconds(100))
            try await clock.waitForTimer(in: .milliseconds(100))
            clock.advance(by: .milliseconds(100))
            await end
        } else {
            client.cancelAll()
        }
        let (items, error) = await result
        #expect(items.map(\.data) == ["a"] && error is CancellationError)
        #expect(transport.requests.count == 1 && clock.timerCount == 0)
    }
}
