// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing
import Turnpike
import TurnpikeLifecycle
import TurnpikeSupport
import TurnpikeTesting

@Suite("ClientService", .timeLimit(.minutes(5)))
struct ClientServiceTests {
    private let clock = ManualClock()
    private let notes = Notes()
    private let url: Target = "https://example.com/"

    private func client(_ response: @escaping @Sendable () async -> MockResponse) -> Client {
        Client(
            transport: ClosingTransport(MockTransport { _ in await response() }, notes),
            stack: [
                Closing(gateName: "outer", notes: notes), Closing(gateName: "inner", notes: notes),
            ],
            timeSource: clock)
    }

    private func refuses(_ client: Client) async -> Bool {
        do {
            try await client.get(url).empty()
            return false
        } catch {
            return (error as? ClientError)?.code == .cancelled
        }
    }

    @Test("It refuses new calls, lets those under way end, then closes gates and connections")
    func endsInTime() async throws {
        let (began, mayEnd) = (SharedValue<Void>(), SharedValue<Void>())
        let client = client {
            began.settle(.success(()))
            _ = try? await mayEnd.value()
            return .ok(text: "x")
        }
        let service = ClientService(client, grace: .seconds(10))
        try await testGracefulShutdown { trigger in
            let run = Task { await service.run() }
            let answer = Task { try await client.get(url).string() }
            try await began.value()
            trigger.triggerGracefulShutdown()
            try await clock.waitForTimer(in: .seconds(10))
            #expect(await refuses(client))
            #expect(notes.all.isEmpty)
            mayEnd.settle(.success(()))
            #expect(try await answer.value == "x")
            await run.value
        }
        #expect(notes.all == ["outer", "inner", "transport"])
        #expect(client.runningCallCount == 0)
    }

    @Test("A call that never ends is cancelled after the grace time, and its error says so")
    func neverEnds() async throws {
        let client = client { .ok().delayed(by: .seconds(36_000)) }
        let service = ClientService(client, grace: .seconds(10))
        try await testGracefulShutdown { trigger in
            let run = Task { await service.run() }
            let call = Task { try await client.get(url).response() }
            try await clock.waitForTimer(in: .seconds(36_000))
            trigger.triggerGracefulShutdown()
            try await clock.waitForTimer(in: .seconds(10))
            clock.advance(by: .seconds(9))
            #expect(client.runningCallCount == 1)
            clock.advance(by: .seconds(1))
            let error = await #expect(throws: ClientError.self) { try await call.value }
            #expect(error?.code == .cancelled)
            #expect(error?.message.contains("grace time of at most 10 s") == true)
            #expect(error?.request?.url == "https://example.com/")
            await run.value
        }
        #expect(notes.all == ["outer", "inner", "transport"])
    }

    @Test("A retry does not begin anew when the grace time has passed")
    func noRetry() async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(36_000)) }
        let client = Client(
            transport: transport, stack: [.retry(attempts: 3, budget: nil)], timeSource: clock)
        try await testGracefulShutdown { trigger in
            let run = Task { await ClientService(client, grace: .seconds(10)).run() }
            let call = Task { try await client.get(url).response() }
            try await clock.waitForTimer(in: .seconds(36_000))
            trigger.triggerGracefulShutdown()
            try await clock.waitForTimer(in: .seconds(10))
            clock.advance(by: .seconds(10))
            await #expect(throws: ClientError.self) { try await call.value }
            await run.value
        }
        #expect(transport.sentCount == 1)
    }

    @Test("A body that nobody reads is closed after the grace time, and a late reader is told")
    func unreadBody() async throws {
        let server = try TestServer()
        defer { server.stop() }
        server.route("/", .endless())
        let client = Client(
            transport: ClosingTransport(URLSessionTransport(), notes), stack: [],
            timeSource: clock)
        let response = try await client.get(server.target).response()
        try await testGracefulShutdown { trigger in
            let run = Task { await ClientService(client, grace: .seconds(10)).run() }
            trigger.triggerGracefulShutdown()
            try await clock.waitForTimer(in: .seconds(10))
            clock.advance(by: .seconds(10))
            // The shutdown waits one second for the call, because the response is still unread.
            try await clock.waitForTimer(in: .seconds(1))
            clock.advance(by: .seconds(1))
            await run.value
        }
        #expect(notes.all == ["transport"])
        let error = await #expect(throws: ClientError.self) {
            try await response.body.collect(upTo: .max)
        }
        #expect(error?.message.contains("grace time of at most 10 s") == true)
        try await server.wait { $0.open == 0 }
    }

    @Test("A body that is let go of ends the grace time")
    func droppedBody() async throws {
        let client = client { .ok(text: "x") }
        try await testGracefulShutdown { trigger in
            var response: Response? = try await client.get(url).response()
            #expect(response?.status == .ok)
            let run = Task { await ClientService(client, grace: .seconds(10)).run() }
            trigger.triggerGracefulShutdown()
            try await clock.waitForTimer(in: .seconds(10))
            response = nil
            await run.value
        }
        #expect(clock.timerCount == 0)
    }

    @Test("A second shutdown finds nothing to wait for")
    func second() async throws {
        let client = client { .ok() }
        let service = ClientService(client, grace: .seconds(10))
        await testGracefulShutdown { trigger in
            trigger.triggerGracefulShutdown()
            await service.run()
            await service.run()
        }
        await client.shutdown(grace: .seconds(10))
        #expect(await refuses(client))
        #expect(clock.timerCount == 0)
    }

    @Test("A second shutdown without grace ends the grace time of the first one")
    func hurried() async throws {
        let client = client { .ok().delayed(by: .seconds(36_000)) }
        try await testGracefulShutdown { trigger in
            let run = Task { await ClientService(client, grace: .seconds(10)).run() }
            let call = Task { try await client.get(url).response() }
            try await clock.waitForTimer(in: .seconds(36_000))
            trigger.triggerGracefulShutdown()
            try await clock.waitForTimer(in: .seconds(10))
            await client.shutdown()
            await #expect(throws: CancellationError.self) { try await call.value }
            await run.value
        }
    }

    @Test("Cancellation ends calls at once and still closes everything")
    func cancelled() async throws {
        let client = client { .ok().delayed(by: .seconds(36_000)) }
        let run = Task { await ClientService(client, grace: .seconds(10)).run() }
        let call = Task { try await client.get(url).response() }
        try await clock.waitForTimer(in: .seconds(36_000))
        run.cancel()
        await run.value
        await #expect(throws: ClientError.self) { try await call.value }
        #expect(notes.all == ["outer", "inner", "transport"])
        #expect(await refuses(client))
    }

    @Test("Cancellation within the grace time ends it")
    func cancelledInGrace() async throws {
        let client = client { .ok().delayed(by: .seconds(36_000)) }
        try await testGracefulShutdown { trigger in
            let run = Task { await ClientService(client, grace: .seconds(10)).run() }
            let call = Task { try await client.get(url).response() }
            try await clock.waitForTimer(in: .seconds(36_000))
            trigger.triggerGracefulShutdown()
            try await clock.waitForTimer(in: .seconds(10))
            run.cancel()
            await run.value
            await #expect(throws: ClientError.self) { try await call.value }
        }
        #expect(notes.all == ["outer", "inner", "transport"])
    }
}
