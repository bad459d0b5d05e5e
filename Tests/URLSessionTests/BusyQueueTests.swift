// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import TurnpikeCore
import TurnpikeTesting

@testable import TurnpikeURLSession

/// Calls that end while the one network queue of URLSession does something else.
@Suite("A busy network queue")
struct BusyQueueTests {
    /// Keeps the network queue of all sessions busy, as the response of another exchange can.
    private final class BusyQueue: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        private final class Inline: OperationQueue, @unchecked Sendable {
            override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
        }

        private let hold = DispatchSemaphore(value: 0)
        private let began = AsyncStream<Void>.makeStream()

        init(_ url: URL) async {
            super.init()
            let session = URLSession(
                configuration: .ephemeral, delegate: self, delegateQueue: Inline())
            session.dataTask(with: url).resume()
            for await _ in began.stream { break }
            session.finishTasksAndInvalidate()
        }

        func release() { hold.signal() }

        func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            began.continuation.yield()
            hold.wait()
        }
    }

    /// Sends as `URLSessionTransport` does, and tells when an exchange was given to the driver.
    private struct Sender: Transport {
        let driver = URLSessionDriver(maxConnectionsPerHost: 8)
        let started = AsyncStream<Void>.makeStream()

        var capabilities: TransportCapabilities { [] }

        func shutdown() async {}

        func task(for request: Request, _ context: Context) async throws -> URLSessionExchange {
            let upload = try await Upload(request.body, context: context, limit: 1)
            return URLSessionExchange(
                url: request.url, request: URLSessionRequest.make(request, upload: upload),
                isRepeatable: false, upload: upload, driver: driver)
        }

        func send(_ request: Request, context: Context) async throws -> Response {
            let task = try await task(for: request, context)
            let exchange = Exchange(context: context) { task.cancel(because: $0) }
            task.start(feeding: exchange)
            started.continuation.yield()
            return try await exchange.response()
        }
    }

    private struct Limit: Interceptor {
        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            try await next(request, within: .seconds(5)) { _ in
                ClientError(.deadlineExceeded, "too late")
            }
        }
    }

    private final class Notes: CallReader {
        let messages = Mutex<[String]>([])

        func read(_ step: CallStep, in context: Context) {
            guard case .note(_, let message, _) = step else { return }
            messages.withLock { $0.append(message) }
        }
    }

    /// Counts its starts; its cancellation waits as long as a busy network queue lets it.
    private final class SlowTask: URLSessionDataTask, @unchecked Sendable {
        let starts = Atomic(0)
        let cancels = DispatchSemaphore(value: 0)

        override func resume() { starts.add(1, ordering: .relaxed) }
        override func cancel() { cancels.wait() }
    }

    @Test("An exchange that has ended does not start, even if an earlier cancellation waits")
    func ended() async throws {
        let sender = Sender()
        func exchange() async throws -> URLSessionExchange {
            try await sender.task(for: Request(.get, "http://a.example/"), Context())
        }
        let running = SlowTask()
        defer { running.cancels.signal() }
        let first = try await exchange()
        #expect(first.begin { _ in running })
        #expect(running.starts.load(ordering: .relaxed) == 1)
        first.cancel()

        let waiting = try await exchange()
        waiting.cancel()
        let never = SlowTask()
        #expect(!waiting.begin { _ in never })

        // The end comes while the task is made, which can also take long.
        let late = SlowTask()
        late.cancels.signal()
        let starting = try await exchange()
        #expect(
            starting.begin { _ in
                starting.cancel()
                return late
            })
        #expect([never, late].allSatisfy { $0.starts.load(ordering: .relaxed) == 0 })
    }

    @Test("A deadline ends the calls that wait for it; they say so, and are not sent afterwards")
    func deadline() async throws {
        let server = try TestServer()
        for path in ["/busy", "/late", "/marker"] { server.route(path, .ok(text: "x")) }
        server.route("/held", .ok(text: "x").held(by: TestHold()))
        let clock = ManualClock()
        let sender = Sender()
        let client = Client(
            baseURL: server.target, transport: sender, stack: [Limit()],
            serializers: SerializerTable(), timeSource: clock)
        var starts = sender.started.stream.makeAsyncIterator()
        let notes = Notes()

        // Even the cancellation of a running exchange waits for the network queue.
        var calls = [Task { try await client.get("held").response() }]
        await starts.next()
        try await server.waitForRequests(1)
        let busy = await BusyQueue(server.url.appending(path: "busy"))
        for _ in 0..<3 {
            var call = client.post("late", body: .text("x"))
            call.readers = [notes]
            calls.append(Task { [call] in try await call.response() })
            await starts.next()
        }
        clock.advance(by: .seconds(5))
        let text = "the request was not started because another exchange"
        for (call, end) in zip(calls, ["the server had not answered", text, text, text]) {
            let error = await #expect(throws: ClientError.self) { try await call.value }
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.message.hasPrefix("too late; \(end)") == true)
        }
        let marker = Task { try await client.get("marker").response() }
        await starts.next()
        busy.release()
        #expect(try await marker.value.status == .ok)
        #expect(server.requests.map(\.target) == ["/held", "/busy", "/marker"])
        let texts = notes.messages.withLock { $0 }
        #expect(texts.count == 3 && texts.allSatisfy { $0.hasPrefix(text) })
    }
}
#endif
