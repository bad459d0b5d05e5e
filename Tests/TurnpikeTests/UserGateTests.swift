// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

// Five lines each: what a user writes to take part in the chain.

private struct Surprise: Error {}

private struct NoSurprises: ResponseValidator {
    func validate(_ response: Response, for request: Request, context: Context) throws {
        if response.headers["X-Surprise"] != nil { throw Surprise() }
    }
}

private final class Journal: RequestLogger {
    private let kept = Mutex<[String]>([])
    var lines: [String] { kept.withLock { $0 } }
    func log(_ event: CallEvent) { kept.withLock { $0.append("\(event.kind)") } }
}

private final class Counter: MetricsRecorder {
    private let kept = Mutex<[CallMeasurement]>([])
    var measurements: [CallMeasurement] { kept.withLock { $0 } }
    func record(_ measurement: CallMeasurement) { kept.withLock { $0.append(measurement) } }
}

/// A type of two roles.
private struct StampAndRetry: RequestAdapter, RequestRetrier {
    func adapt(_ request: inout Request, context: Context) async throws {
        request.headers["X-Attempt"] = String(context.attempt)
    }
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
        outcome.attempts < 2 ? .retry(after: .zero) : .stop
    }
}

@Suite("Custom gates")
struct UserGateTests {
    @Test("A validator's own error reaches the caller unchanged")
    func validator() async throws {
        let client = Client(transport: MockTransport { _ in .ok(headers: ["X-Surprise": "1"]) }) {
            NoSurprises()
        }
        await #expect(throws: Surprise.self) {
            try await client.get("http://a.example/").data()
        }
    }

    @Test("A logger receives the events of its pass in order")
    func logger() async throws {
        let journal = Journal()
        let client = Client(transport: MockTransport { _ in .ok(text: "x") }) { journal }
        _ = try await client.get("http://a.example/").data()
        #expect(journal.lines.count == 5)
        #expect(journal.lines.prefix(4) == ["began", "sent", "received", "responded"])
        #expect(journal.lines.last?.hasPrefix("bodyEnded") == true)
    }

    @Test("A recorder gets one measurement for each pass, the body included")
    func recorder() async throws {
        let counter = Counter()
        let client = Client(transport: MockTransport { _ in .ok(text: "12345") }) { counter }
        let response = try await client.get("http://a.example/").response()
        #expect(counter.measurements.isEmpty)
        _ = try await response.body.collect(upTo: 100)
        #expect(counter.measurements.map(\.responseBodyBytes) == [5])
        #expect(counter.measurements.first?.status == 200)
        #expect(counter.measurements.first?.resends == 0)
    }

    @Test("A type of two roles has both, the retrier around the adapter")
    func twoRoles() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport, stack: [StampAndRetry()])
        try await client.get("http://a.example/").empty()
        #expect(transport.sent.map { $0.request.headers["X-Attempt"] } == ["1", "2"])
    }
}
