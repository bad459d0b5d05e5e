// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

private struct Retrying: RequestRetrier {
    let notes: Notes
    let decide: @Sendable (Outcome) -> RetryDecision
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision { decide(outcome) }
    func retryWasAbandoned(_ outcome: Outcome, context: Context) { notes.add("abandoned") }
}

private struct Refusing: ResponseValidator {
    func validate(_ response: Response, for request: Request, context: Context) throws {
        if response.status.code >= 400 { throw ClientError(.validation, "no") }
    }
}

private struct Adding: SynchronousRequestAdapter {
    let value: String
    func adapt(_ request: inout Request, context: Context) {
        request.headers.append("X-Added", value)
    }
}

@Suite("Roles")
struct RoleTests {
    private let notes = Notes()

    private func retrying(_ decide: @escaping @Sendable (Outcome) -> RetryDecision) -> Retrying {
        Retrying(notes: notes, decide: decide)
    }

    @Test("A body that a gate sets is sent with its type, unless the request has one")
    func bodyOfAGate() async throws {
        struct Wrapping: SynchronousRequestAdapter {
            func adapt(_ request: inout Request, context: Context) {
                request.body = .json(["data": 1])
            }
        }
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport, Wrapping())
        _ = try await client.post(anywhere).response()
        _ = try await client.post(anywhere, headers: ["Content-Type": "a/b"]).response()
        let types = transport.sent.map { $0.request.headers[.contentType] }
        #expect(types == ["application/json", "a/b"])
    }

    @Test(
        "A refused response keeps its head and up to 4 KiB of content in the error"
    )
    func validation() async throws {
        let big = Data(repeating: 0x61, count: 100_000)
        let transport = MockTransport { _ in
            .stream([big], status: 404, headers: ["X-Why": "gone"])
        }
        let error = await #expect(throws: ClientError.self) {
            try await Client(transport, Refusing()).get(anywhere).response()
        }
        #expect(error?.response?.status == 404)
        #expect(error?.response?.headers["X-Why"] == "gone")
        #expect(error?.responseBody.count == 4096)
        #expect(error?.request?.method == .get)
        #expect(error?.attempts == 1)
    }

    @Test(
        "A retry sees a refused response whether the validator stands inside or outside",
        arguments: [true, false])
    func position(inside: Bool) async throws {
        let transport = MockTransport([.any(.status(503), .status(503), .ok(text: "x"))])
        let retry = retrying { $0.status == 503 ? .retry(after: .zero) : .stop }
        let client =
            inside ? Client(transport, retry, Refusing()) : Client(transport, Refusing(), retry)
        #expect(try await client.get(anywhere).serialize(with: Text()) == "x")
        #expect(transport.sentCount == 3)
    }

    @Test("Adapters change the request in the order of the stack")
    func adapters() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport, Adding(value: "1"), Adding(value: "2"))
        _ = try await client.get(anywhere).response()
        #expect(transport.sent.first?.request.headers.values(of: "X-Added") == ["1", "2"])
    }

    @Test(
        "The innermost retrier is asked first, an outer one after it has stopped",
        arguments: [
            ("the inner one stops", false, ["A", "B"]), ("the inner one retries", true, ["A"]),
        ])
    func retriers(id: String, firstRetries: Bool, expected: [String]) async throws {
        let transport = MockTransport([.any(.status(503), .ok())])
        func retrier(_ name: String, retries: Bool) -> Retrying {
            retrying { [notes] outcome in
                if outcome.status != 503 { return .stop }
                notes.add(name)
                return retries ? .retry(after: .zero) : .stop
            }
        }
        let client = Client(
            transport, retrier("B", retries: true), retrier("A", retries: firstRetries))
        #expect(try await client.get(anywhere).response().status == 200)
        #expect(notes.all == expected && transport.sentCount == 2)
    }

    @Test("A one-shot body is sent once, and the first outcome is final")
    func oneShot() async throws {
        let transport = MockTransport { _ in .status(503) }
        let client = Client(transport, retrying { _ in .retry(after: .zero) })
        let body = RequestBody.stream {
            AsyncStream<Data> {
                $0.yield(Data("x".utf8)); $0.finish()
            }
        }
        let response = try await client.post(anywhere, body: body).response()
        #expect(response.status == 503)
        #expect(transport.sentCount == 1)
        #expect(notes.all == ["abandoned"])
    }

    @Test("A replayable stream is sent completely in each attempt")
    func replay() async throws {
        let transport = MockTransport([.any(.status(503), .status(200))])
        let client = Client(transport, retrying { $0.status == 503 ? .retry(after: .zero) : .stop })
        let body = RequestBody.stream(replayable: true) {
            AsyncStream<Data> { stream in
                for text in ["a", "b"] { stream.yield(Data(text.utf8)) }
                stream.finish()
            }
        }
        _ = try await client.put(anywhere, body: body).response()
        #expect(transport.sent.map(\.body) == [Data("ab".utf8), Data("ab".utf8)])
    }

    @Test("The wait runs on the client's clock and ends with the task")
    func waiting() async throws {
        let clock = ManualClock()
        let transport = MockTransport([.any(.status(503), .ok())])
        let client = Client(
            transport, clock: clock,
            retrying { $0.status == 503 ? .retry(after: .seconds(5)) : .stop })
        let call = Task { try await client.get(anywhere).response().status }
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(5) - .nanoseconds(1))
        #expect(transport.sentCount == 1)
        clock.advance(by: .nanoseconds(1))
        #expect(try await call.value == 200)
        let cancelled = Task {
            try await Client(
                MockTransport { _ in .status(503) }, clock: clock,
                retrying { _ in .retry(after: .seconds(5)) }
            ).get(anywhere).response()
        }
        try await clock.waitForTimers(1)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(notes.all == ["abandoned"])
        #expect(clock.timerCount == 0)
    }

    @Test("A wait beyond the deadline is not begun")
    func deadline() async throws {
        let clock = ManualClock()
        let outer = Around { request, context, next in
            try await next(
                request, context: context.child(deadline: clock.now.advanced(by: .seconds(4))))
        }
        let client = Client(
            MockTransport { _ in .status(503) }, clock: clock, outer,
            retrying { _ in .retry(after: .seconds(5)) })
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.response?.status == 503)
        #expect(clock.timerCount == 0)
    }

    @Test("A retrier may replace the error, and is not asked about a cancellation")
    func failing() async throws {
        struct Mine: Error {}
        let client = Client(MockTransport { _ in .status(500) }, retrying { _ in .fail(Mine()) })
        await #expect(throws: Mine.self) { try await client.get(anywhere).response() }
        let asked = Notes()
        let cancelled = Client(
            MockTransport { _ in throw CancellationError() },
            retrying { _ in
                asked.add("asked")
                return .stop
            })
        await #expect(throws: CancellationError.self) {
            try await cancelled.get(anywhere).response()
        }
        #expect(asked.all.isEmpty)
    }

    @Test("A client inside a retrying call of another makes one attempt")
    func nested() async throws {
        let innerTransport = MockTransport { _ in .status(503) }
        let inner = Client(
            innerTransport, retrying { $0.attempts < 3 ? .retry(after: .zero) : .stop })
        let outer = Client(
            MockTransport { _ in .status(503) },
            retrying { $0.attempts < 3 ? .retry(after: .zero) : .stop },
            Around { request, _, next in
                _ = try await inner.get(anywhere).response()
                return try await next(request)
            })
        _ = try await outer.get(anywhere).response()
        #expect(
            innerTransport.sentCount == 3, "once for each attempt of the outer call, not 9 times")
        _ = try await inner.get(anywhere).response()
        #expect(innerTransport.sentCount == 6)
    }

    @Test("A task that outlives the retrying call that began it retries as any other")
    func outliving() async throws {
        let innerTransport = MockTransport { _ in .status(503) }
        let inner = Client(
            innerTransport, retrying { $0.attempts < 3 ? .retry(after: .zero) : .stop })
        let isOver = SharedValue<Void>()
        let begun = Mutex<Task<Int, any Error>?>(nil)
        let outer = Client(
            MockTransport { _ in .status(200) }, retrying { _ in .stop }, retrying { _ in .stop },
            Around { request, _, next in
                let task = Task {
                    try await isOver.value()
                    return try await inner.get(anywhere).response().attempts
                }
                begun.withLock { $0 = task }
                return try await next(request)
            })
        _ = try await outer.get(anywhere).response()
        isOver.settle(.success(()))
        #expect(try await begun.withLock { $0 }?.value == 3)
    }

    @Test("Every discarded response is closed, also on the last attempt")
    func discarding() async throws {
        let clock = ManualClock()
        let open = Atomic(0)
        final class Counting: Transport {
            let open = Mutex(0)
            let capabilities: TransportCapabilities = []
            func send(_ request: Request, context: Context) async throws -> Response {
                open.withLock { $0 += 1 }
                let response = Response(
                    to: request, status: 503,
                    body: ResponseBody(
                        AsyncStream<Data> {
                            $0.yield(Data("x".utf8)); $0.finish()
                        }))
                response.body.onEnd { [self] _ in open.withLock { $0 -= 1 } }
                return response
            }
            func shutdown() async {}
        }
        let transport = Counting()
        let client = Client(
            transport, clock: clock, Refusing(),
            retrying { $0.attempts < 3 ? .retry(after: .zero) : .stop })
        await expectError(.validation) { try await client.get(anywhere).response() }
        #expect(transport.open.withLock { $0 } == 0)
        _ = open
    }

    @Test("A response that never ends is not waited for")
    func endless() async throws {
        let clock = ManualClock()
        let transport = MockTransport([
            .any(.stream([Data("x".utf8)], status: 503, every: .seconds(3600)), .ok(text: "x"))
        ])
        let client = Client(
            transport, clock: clock, retrying { $0.status == 503 ? .retry(after: .zero) : .stop })
        let call = Task { try await client.get(anywhere).serialize(with: Text()) }
        // The transfer's own timer and that of the drain.
        try await clock.waitForTimers(2)
        clock.advance(by: .milliseconds(100))
        #expect(try await call.value == "x")
    }

    @Test("A gate that plays no role fails the call and says what to do, and sends nothing")
    func noRole() async throws {
        struct Forgotten: Gate {
            func intercepts(_ request: Request, next: Next) async throws {}
        }
        let transport = MockTransport { _ in .status(204) }
        let error = await #expect(throws: ClientError.self) {
            try await Client(transport, Forgotten()).get(anywhere).response()
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("Forgotten") == true)
        #expect(error?.message.contains("Interceptor") == true)
        #expect(transport.sentCount == 0)
    }
}
