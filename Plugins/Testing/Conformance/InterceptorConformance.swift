// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCore

/// The requirements for every gate, checked with a mock transport and a ``ManualClock``.
///
/// ```swift
/// @Test(arguments: InterceptorConformance.checks)
/// func conforms(_ check: InterceptorConformance.Check) async throws {
///     try await check.run(on: MyGate())
/// }
/// ```
///
/// The checks assume a gate that forwards an ordinary `GET` with a 200 response, and a `POST` with
/// a one-shot body. Configure a gate that answers requests itself accordingly. If the gate must
/// refuse a one-shot body, omit this check, and test the refusal:
///
/// ```swift
/// static let checks = InterceptorConformance.checks.filter {
///     $0.name != "A one-shot body is opened at most once"
/// }
/// ```
public enum InterceptorConformance {
    /// One check of a gate.
    public typealias Check = ConformanceCheck<any Gate>

    /// All checks.
    public static var checks: [Check] { passing + ending + keeping }

    private static let url: Target = "https://a.example/x?api_key=planted-secret-1"
    private static let secrets = [
        "planted-secret-1", "planted-secret-2", "planted-secret-3",
    ]

    private static func client(
        _ gate: any Gate, _ transport: any Transport, clock: ManualClock = ManualClock()
    ) -> Client {
        Client(
            transport: transport, stack: Stack([gate]), serializers: SerializerTable(),
            timeSource: clock, randomSource: SeededRandomSource(seed: 1))
    }

    private static var passing: [Check] {
        [
            Check("An ordinary answer passes unchanged") { gate in
                let transport = MockTransport { _ in .ok(text: "hello", headers: ["X-A": "1"]) }
                let response = try await client(gate, transport).get(url).response()
                try require(response.status == 200, "the status is \(response.status.code)")
                try require(response.headers["X-A"] == "1", "a header field is gone")
                let body = try await response.body.collect(upTo: 100)
                try require(body == Data("hello".utf8), "the content differs")
                try require(transport.sentCount >= 1, "nothing was sent")
            },
            Check("Content is streamed, not collected") { gate in
                let pulled = Mutex(0)
                let transport = StreamTransport { pulled.withLock { $0 += 1 } }
                let response = try await client(gate, transport).get(url).response()
                let before = pulled.withLock { $0 }
                try require(before <= 1, "\(before) chunks were read before the head came out")
                for try await _ in response.body { break }
                let after = pulled.withLock { $0 }
                try require(after <= 2, "\(after) chunks were read for one")
            },
            Check("A one-shot body is opened at most once") { gate in
                let opened = Mutex(0)
                let transport = MockTransport { _ in .ok(text: "x") }
                let body = RequestBody.stream {
                    opened.withLock { $0 += 1 }
                    return AsyncStream<Data> { continuation in
                        continuation.yield(Data("x".utf8))
                        continuation.finish()
                    }
                }
                _ = try await client(gate, transport).post(url, body: body).response()
                try require(
                    opened.withLock { $0 } == 1, "it was opened \(opened.withLock { $0 }) times")
                try require(transport.sent.last?.body == Data("x".utf8), "the content differs")
            },
            Check("A thousand calls at once are all answered") { gate in
                let transport = MockTransport(recordLimit: 0) { request in
                    .ok(text: request.headers["X-Call"] ?? "none")
                }
                let client = client(gate, transport)
                try await withThrowingTaskGroup { group in
                    for index in 0..<1000 {
                        group.addTask {
                            let body = try await client.get(url, headers: ["X-Call": "\(index)"])
                                .response().body.collect(upTo: 100)
                            let text = String(decoding: body, as: UTF8.self)
                            try require(text == "\(index)", "call \(index) got “\(text)”")
                        }
                    }
                    try await group.waitForAll()
                }
            },
        ]
    }

    private static var ending: [Check] {
        [
            Check("A task that is already cancelled sends nothing") { gate in
                let transport = MockTransport { _ in .ok() }
                let call = Task { [client = client(gate, transport)] in
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                    return try await client.get(url).response()
                }
                try await requireCancellation { _ = try await call.value }
                try require(transport.sentCount == 0, "\(transport.sentCount) requests were sent")
            },
            Check("Cancelling a waiting call ends it at once with CancellationError") { gate in
                let clock = ManualClock()
                let transport = MockTransport { _ in .ok().delayed(by: .seconds(1_000_000)) }
                let call = Task { [client = client(gate, transport, clock: clock)] in
                    try await client.get(url).response()
                }
                try await clock.waitForTimer(in: .seconds(1_000_000))
                call.cancel()
                try await requireCancellation { _ = try await call.value }
                try require(transport.sentCount == 1, "the request was sent again")
            },
            Check("Cancelling the context ends the call") { gate in
                let clock = ManualClock()
                let transport = MockTransport { _ in .ok().delayed(by: .seconds(1_000_000)) }
                let client = client(gate, transport, clock: clock)
                let call = Task { try await client.get(url).response() }
                try await clock.waitForTimer(in: .seconds(1_000_000))
                client.cancelAll()
                _ = try await error { _ = try await call.value }
                try require(transport.sentCount == 1, "the request was sent again")
            },
            Check("A dropped body is closed exactly once") { gate in
                let ends = Mutex(0)
                let transport = StreamTransport(onEnd: { ends.withLock { $0 += 1 } }, onPull: {})
                let client = client(gate, transport)
                for _ in 0..<3 { _ = try await client.get(url).response() }
                try require(ends.withLock { $0 } == 3, "\(ends.withLock { $0 }) of 3 were closed")
                let body = try await client.get(url).response().body
                for try await _ in body { break }
                try require(ends.withLock { $0 } == 4, "a body that the reader drops is not closed")
            },
            Check("An error of the body reaches the caller unchanged") { gate in
                let failure = ClientError(.incomplete, "cut off", transfer: .init(.receiving))
                let transport = MockTransport { _ in
                    .stream([Data("x".utf8)], thenThrow: failure)
                }
                let error = try await error {
                    _ = try await client(gate, transport).get(url).response().body.collect(upTo: 9)
                }
                try require(
                    ClientError.Code.incomplete ~= error, "the error is \(error)")
            },
        ]
    }

    private static var keeping: [Check] {
        [
            Check("An error of the transport reaches the caller") { gate in
                struct Own: Error {}
                let transport = MockTransport { _ in throw Own() }
                let error = try await error {
                    _ = try await client(gate, transport).get(url).response()
                }
                try require(
                    error is Own || error is ClientError, "the transport's error became \(error)")
            },
            Check("No secret of a request is printed") { gate in
                let transport = MockTransport { _ in throw CancelledByPeer() }
                var printed = ""
                do {
                    _ = try await client(gate, transport).request(
                        .get, url,
                        headers: [
                            "Authorization": "Bearer planted-secret-2",
                            "Cookie": "a=planted-secret-3",
                        ]
                    ).response()
                } catch {
                    printed += "\(error)" + String(reflecting: error)
                }
                dump(gate, to: &printed)
                for secret in secrets {
                    try require(!printed.contains(secret), "\(secret) is printed")
                }
            },
            Check("The gate has a name and plays a role") { gate in
                try require(!gate.gateName.isEmpty, "its name is empty")
                let fault = client(gate, MockTransport { _ in .ok() }).fault
                try require(fault == nil, "\(fault.map(String.init(describing:)) ?? "")")
            },
        ]
    }
}

private struct CancelledByPeer: Error {}

/// A transport with endless content that is created on demand.
private struct StreamTransport: Transport {
    var onEnd: @Sendable () -> Void = {}
    let onPull: @Sendable () -> Void
    let capabilities = TransportCapabilities(rawValue: .max)

    func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        let body = ResponseBody(source: Source(onPull: onPull))
        body.onEnd { [onEnd] _ in onEnd() }
        return Response(to: request, status: 200, body: body)
    }

    func shutdown() async {}

    private struct Source: ResponseBodySource {
        let onPull: @Sendable () -> Void

        func next() async throws -> Data? {
            onPull()
            return Data("chunk".utf8)
        }

        func cancel(_ reason: CancelReason) {}
    }
}
