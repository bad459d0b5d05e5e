// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Call")
struct CallTests {
    @Test("Nothing is sent before a terminal method, and each terminal method sends again")
    func lazy() async throws {
        let transport = MockTransport { _ in .ok(text: "x") }
        let call = Client(transport).get(anywhere)
        #expect(transport.sentCount == 0)
        _ = try await call.response()
        _ = try await call.serialize(with: Text())
        #expect(transport.sentCount == 2)
    }

    @Test("The serializer sets Accept, unless the caller did")
    func accept() async throws {
        struct Asking: ContentSerializer {
            var accept: [MediaType] { [.json, MediaType("text", "*", quality: 0.5)] }
            func serialize(_ content: Data, of head: ResponseHead) -> Int { content.count }
        }
        let transport = MockTransport { _ in .ok(text: "abc") }
        let client = Client(transport)
        #expect(try await client.get(anywhere).serialize(with: Asking()) == 3)
        _ = try await client.get(anywhere).header(.accept, "text/csv").serialize(with: Asking())
        #expect(
            transport.sent.map { $0.request.headers[.accept] } == [
                "application/json, text/*;q=0.5", "text/csv",
            ])
    }

    @Test("The type of a body is sent, unless the caller named one")
    func contentType() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport)
        _ = try await client.post(anywhere, body: .json(["a": 1])).response()
        _ = try await client.post(anywhere, body: .json(["a": 1]), headers: ["Content-Type": "x/y"])
            .response()
        #expect(
            transport.sent.map { $0.request.headers[.contentType] } == ["application/json", "x/y"])
    }

    @Test("User information in the URL becomes a credential and leaves the URL")
    func userInformation() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport)
        _ = try await client.get("http://u%40x:p%3Aw@a.example/x").response()
        _ = try await client.get("http://u:p@a.example/x", headers: ["Authorization": "mine"])
            .response()
        let sent = transport.sent.map(\.request)
        #expect(sent.map(\.url.absoluteString) == ["http://a.example/x", "http://a.example/x"])
        #expect(
            sent[0].headers[.authorization] == "Basic " + Data("u@x:p:w".utf8).base64EncodedString()
        )
        #expect(sent[1].headers[.authorization] == "mine")
    }

    @Test("An error names the request as sent, and the attempts")
    func errors() async throws {
        let transport = MockTransport([.any(.connectionLost)])
        let client = Client(
            transport,
            Around { request, _, next in
                var request = request
                request.headers["X-Added"] = "1"
                do { return try await next.attempt(request) } catch {
                    return try await next.attempt(request)
                }
            })
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .connection)
        #expect(error?.request?.headers["X-Added"] == "1")
        #expect(error?.attempts == 2)
    }

    @Test("A gate's own error passes unchanged")
    func ownErrors() async throws {
        struct Mine: Error {}
        let client = Client(MockTransport { _ in .ok() }, Around { _, _, _ in throw Mine() })
        await #expect(throws: Mine.self) { try await client.get(anywhere).response() }
    }

    @Test("An option adds its gate outermost if the stack has none, otherwise that gate reads it")
    func wishes() async throws {
        enum Wish: RequestOptionKey {
            static func gate(for value: String) -> (any Gate)? { Granting(fallback: "unused") }
        }
        struct Granting: SynchronousRequestAdapter {
            let fallback: String
            var handledOptions: [any RequestOptionKey.Type] { [Wish.self] }
            func adapt(_ request: inout Request, context: Context) {
                request.headers.append("X-Wish", request.options[Wish.self] ?? fallback)
            }
        }
        let transport = MockTransport { _ in .ok() }
        _ = try await Client(transport).get(anywhere).option(Wish.self, "a").response()
        let client = Client(transport, Granting(fallback: "default"))
        _ = try await client.get(anywhere).option(Wish.self, "b").response()
        _ = try await client.get(anywhere).response()
        #expect(transport.sent.map { $0.request.headers["X-Wish"] } == ["a", "b", "default"])
    }

    @Test("The timeline grows until the value is available")
    func timeline() async throws {
        let clock = ManualClock()
        let transport = MockTransport { _ in
            .stream([Data("ab".utf8)], every: .seconds(2)).delayed(by: .seconds(1))
        }
        let client = Client(transport, clock: clock)
        let head = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(1))
        let response = try await head.value
        #expect(response.timeline.latency == .seconds(1))
        #expect(response.timeline.bodyEnd == nil)
        let body = Task { try await response.body.collect(upTo: 10) }
        for _ in 0..<2 {
            try await clock.waitForTimers(1)
            clock.advance(by: .seconds(2))
        }
        _ = try await body.value
        #expect(response.timeline.requestDuration == .seconds(5))
        #expect(response.timeline.bodyBytesReceived == 2)
    }
}

@Suite("Client")
struct ClientTests {
    @Test("A bad base URL fails each call with its reason")
    func badBase() async throws {
        let client = Client(
            baseURL: "ftp://h.example/", transport: MockTransport { _ in .ok() }, stack: [],
            serializers: SerializerTable())
        let error = await #expect(throws: ClientError.self) { try await client.get("x").response() }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("base URL") == true)
    }

    @Test("cancelAll ends the calls under way, but not later ones")
    func cancelAll() async throws {
        let clock = ManualClock()
        let transport = MockTransport { request in
            request.url.path() == "/slow" ? .ok().delayed(by: .seconds(60)) : .ok(text: "x")
        }
        let client = Client(transport, clock: clock)
        let calls = (0..<10).map { _ in
            Task { try await client.get("http://a.example/slow").response() }
        }
        try await clock.waitForTimers(10)
        client.cancelAll()
        for call in calls { await #expect(throws: CancellationError.self) { try await call.value } }
        #expect(clock.timerCount == 0)
        #expect(try await client.get(anywhere).serialize(with: Text()) == "x")
    }

    @Test("Shutdown refuses new calls, waits for bodies, then closes gates and transport")
    func shutdown() async throws {
        struct Closing: SynchronousRequestAdapter {
            let notes: Notes
            func adapt(_ request: inout Request, context: Context) {}
            func shutdown() async { notes.add("gate") }
        }
        let notes = Notes()
        let clock = ManualClock()
        let client = Client(
            MockTransport { _ in .ok(text: "x") }, clock: clock, Closing(notes: notes))
        var response: Response? = try await client.get(anywhere).response()
        let shutdown = Task {
            await client.shutdown(grace: .seconds(10))
            notes.add("done")
        }
        try await clock.waitForTimers(1)
        await expectError(.cancelled) { try await client.get(anywhere).response() }
        #expect(notes.all.isEmpty)
        #expect(try await response?.body.collect(upTo: 10) == Data("x".utf8))
        response = nil
        await shutdown.value
        #expect(notes.all == ["gate", "done"])
    }

    @Test("Shutdown cancels calls that outlast its grace period")
    func shutdownGrace() async throws {
        let clock = ManualClock()
        let client = Client(MockTransport { _ in .ok().delayed(by: .seconds(3600)) }, clock: clock)
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(1)
        let shutdown = Task { await client.shutdown(grace: .seconds(10)) }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(10))
        await #expect(throws: CancellationError.self) { try await call.value }
        await shutdown.value
    }
}

@Suite("RunningCall")
struct RunningCallTests {
    private let clock = ManualClock()

    private func client(_ response: MockResponse) -> Client {
        Client(MockTransport { _ in response }, clock: clock)
    }

    @Test("Several tasks await one exchange; one that leaves does not end it for the others")
    func awaiters() async throws {
        let transport = MockTransport { _ in .ok(text: "x").delayed(by: .seconds(1)) }
        let running = Client(transport, clock: clock).get(anywhere).start(Text())
        let leaving = Task { try await running.value }
        let staying = (0..<3).map { _ in Task { try await running.value } }
        try await clock.waitForTimers(1)
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        #expect(running.state == .running)
        clock.advance(by: .seconds(1))
        for task in staying { #expect(try await task.value == "x") }
        #expect(running.state == .finished)
        #expect(transport.sentCount == 1)
    }

    @Test("Cancelling ends the exchange, once")
    func cancelling() async throws {
        let running = client(.ok().delayed(by: .seconds(60))).get(anywhere).start(Text())
        try await clock.waitForTimers(1)
        running.cancel()
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(running.state == .cancelled)
    }

    @Test("A running call has the head of its response before the content, and keeps it")
    func runningHead() async throws {
        let transport = MockTransport { _ in
            .stream(
                [Data("a".utf8), Data("b".utf8)], headers: ["ETag": "\"1\""], every: .seconds(1))
        }
        let running = Client(transport, clock: clock).put(anywhere).start(Text())
        try await until("the head to come") { running.head != nil }
        #expect(running.state == .running)
        #expect(running.head?.headers[.eTag] == "\"1\"")
        // Before each chunk, and before the end.
        for _ in 0..<3 {
            try await clock.waitForTimers(1)
            clock.advance(by: .seconds(1))
        }
        #expect(try await running.value == "ab")
        #expect(running.head?.status == 200)
        let failing = client(.connectionRefused).get(anywhere).start(Text())
        await #expect(throws: ClientError.self) { try await failing.value }
        #expect(failing.head == nil)
    }

    @Test("Dropping the handle cancels the call, unless it was detached", arguments: [false, true])
    func dropping(detached: Bool) async throws {
        let done = AsyncStream.makeStream(of: String.self)
        struct Telling: ContentSerializer {
            let tell: @Sendable (String) -> Void
            func serialize(_ content: Data, of head: ResponseHead) { tell("value") }
        }
        let watch = Around { request, _, next in
            do {
                return try await next(request)
            } catch {
                done.continuation.yield("\(type(of: error))")
                throw error
            }
        }
        let client = Client(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock, watch)
        do {
            let running = client.get(anywhere).start(Telling { done.continuation.yield($0) })
            try await clock.waitForTimers(1)
            if detached { running.detach() }
        }
        clock.advance(by: .seconds(60))
        for await first in done.stream.prefix(1) {
            #expect(first == (detached ? "value" : "CancellationError"))
        }
    }

    @Test("Progress is reported as it comes, also to a late reader, and ends with the call")
    func progress() async throws {
        let chunk = Data(repeating: 1, count: 10)
        let running = client(.stream([chunk, chunk], every: .seconds(1))).get(anywhere).start(
            Text())
        let seen = Task {
            var seen: [Int64] = []
            for await progress in running.progress { seen.append(progress.bytesReceived) }
            return seen
        }
        for _ in 0..<3 {
            try await clock.waitForTimers(1)
            clock.advance(by: .seconds(1))
        }
        _ = try await running.value
        #expect(await seen.value.last == 20)
        var late: [Int64] = []
        for await progress in running.progress { late.append(progress.bytesReceived) }
        #expect(late == [20])
    }

    @Test("A call that the client refuses gives a handle with the error")
    func refused() async throws {
        let client = client(.ok())
        await client.shutdown()
        let running = client.get(anywhere).start(Text())
        #expect(running.state == .failed)
        await expectError(.cancelled) { try await running.value }
    }
}
