// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import TurnpikeCore
@testable import TurnpikeInspection

/// Traces as the recorder makes them, built by hand.
struct TraceBuilder {
    private(set) var spans: [TraceSpan] = []
    var omitted = 0

    /// Adds a span; times are in milliseconds since the beginning of the call.
    @discardableResult
    mutating func add(
        _ kind: TraceSpan.Kind, _ name: String, in parent: Int?, _ start: Double,
        for duration: Double?, _ outcome: TraceSpan.Outcome? = .returned(nil),
        exchange: TraceExchange? = nil
    ) -> Int {
        spans.append(
            TraceSpan(
                id: spans.count, parent: parent, kind: kind, name: name,
                start: .microseconds(Int64(start * 1000)),
                duration: duration.map { .microseconds(Int64($0 * 1000)) },
                outcome: duration == nil ? nil : outcome, exchange: exchange))
        return spans.count - 1
    }

    func trace(_ number: UInt64 = 1, after offset: Double = 0, isComplete: Bool = true) -> Trace {
        Trace(
            id: CallID(client: 0x5f0c_2a1b, number: number),
            date: Date(timeIntervalSince1970: 1_795_452_000.25 + offset), spans: spans,
            omitted: omitted, isComplete: isComplete)
    }
}

enum SampleTraces {
    static let reset = TraceSpan.Outcome.failed(
        label: "connectionLost", description: "connectionLost: the server closed the connection")

    /// A call whose first attempt got a 503 and whose second one succeeded.
    static func retried() -> Trace {
        var builder = TraceBuilder()
        let ok = TraceSpan.Outcome.returned(.ok)
        let call = builder.add(.call, "GET /users/1", in: nil, 0, for: 312, ok)
        let retry = builder.add(.gate, "Retry", in: call, 0.04, for: 311.9, ok)
        let first = builder.add(
            .attempt(1), "attempt 1", in: retry, 0.1, for: 104, .returned(HTTPStatus(503)))
        let failed = exchange(status: 503, bytes: 12, isReused: false)
        let send = builder.add(
            .exchange, "GET /users/1", in: first, 0.2, for: 103.8, .returned(HTTPStatus(503)),
            exchange: failed)
        builder.add(.phase, "queue", in: send, 0.2, for: 1)
        builder.add(.phase, "DNS", in: send, 1.2, for: 12)
        builder.add(.phase, "connect", in: send, 13.2, for: 20)
        builder.add(.phase, "TLS", in: send, 33.2, for: 25)
        builder.add(.phase, "request sent", in: send, 58.2, for: 0.3)
        builder.add(.phase, "first byte", in: send, 58.5, for: 45)
        builder.add(.body, "body", in: send, 103.5, for: 0.5)
        builder.add(.wait, "back-off", in: retry, 104.2, for: 100)
        let second = builder.add(.attempt(2), "attempt 2", in: retry, 204.3, for: 107, ok)
        let again = builder.add(
            .exchange, "GET /users/1", in: second, 204.5, for: 106.7, ok,
            exchange: exchange(status: 200, bytes: 4_096, isReused: true))
        builder.add(.phase, "first byte", in: again, 204.6, for: 60)
        builder.add(.body, "body", in: again, 264.6, for: 46.6)
        return builder.trace()
    }

    /// A call of which two copies were under way, and one of them failed.
    static func hedged() -> Trace {
        var builder = TraceBuilder()
        let ok = TraceSpan.Outcome.returned(.ok)
        let call = builder.add(.call, "GET /stock", in: nil, 0, for: 240, ok)
        let line = builder.add(.gate, "ConcurrencyLimit", in: call, 0.1, for: 239.8, ok)
        builder.add(.wait, "permit", in: line, 0.1, for: 60)
        let hedge = builder.add(.gate, "Hedge", in: line, 60.2, for: 179.6, ok)
        let first = builder.add(.attempt(1), "attempt 1", in: hedge, 60.3, for: 150, reset)
        builder.add(
            .exchange, "GET /stock", in: first, 60.4, for: 149.8, reset,
            exchange: exchange(status: nil, bytes: 0, isReused: nil))
        let second = builder.add(.attempt(2), "attempt 2", in: hedge, 120, for: 119, ok)
        builder.add(
            .exchange, "GET /stock", in: second, 120.1, for: 118.8, ok,
            exchange: exchange(status: 200, bytes: 20_480, isReused: true))
        return builder.trace(2, after: 0.13)
    }

    /// A call whose response's body is still being read.
    static func underWay() -> Trace {
        var builder = TraceBuilder()
        builder.omitted = 3
        let call = builder.add(.call, "GET /events", in: nil, 0, for: nil)
        let send = builder.add(
            .exchange, "GET /events", in: call, 1, for: nil,
            exchange: exchange(
                status: 200, bytes: 900, isReused: true,
                chunks: [
                    TraceChunks(
                        start: .milliseconds(20), end: .milliseconds(90), bytes: 900, count: 9)
                ]))
        builder.add(.phase, "first byte", in: send, 1, for: 19)
        builder.add(.body, "body", in: send, 20, for: nil)
        return builder.trace(3, after: 0.2, isComplete: false)
    }

    /// A call whose names, fields and errors try to break out of what shows them.
    static func hostile() -> Trace {
        var builder = TraceBuilder()
        let text = "</script><script>document.title='broken'</script><!--"
        let outcome = TraceSpan.Outcome.failed(
            label: "protocol", description: "\(text)\u{1B}[31m\u{202E} & \"quoted\" \u{2028}")
        let call = builder.add(
            .call, "GET /\(text)\u{1B}]0;title\u{7}", in: nil, 0, for: 10, outcome)
        builder.add(
            .exchange, "GET /\(text)\n\u{9B}2J", in: call, 1, for: 9, outcome,
            exchange: TraceExchange(
                method: .get, url: "https://a.example/\(text)?q=<img src=x onerror=alert(1)>#part",
                requestHeaders: ["X-Echo": text], status: .ok,
                responseHeaders: [
                    "Content-Type": "text/html", "X-Name": "<img src=x onerror=alert(1)>",
                    "Set-Cookie": "id=[redacted]; Path=/; Expires=Wed, 21 Oct 2037 07:28:00 GMT",
                ], protocolVersion: "1.1"))
        return builder.trace(4, after: 0.3)
    }

    static var all: [Trace] { [retried(), hedged(), underWay(), hostile()] }

    static func exchange(
        status: Int?, bytes: Int64, isReused: Bool?, headers: HTTPHeaders = [:],
        chunks: [TraceChunks] = []
    ) -> TraceExchange {
        var request: HTTPHeaders = ["Accept": "application/json", "Cookie": "id=[redacted]"]
        for field in headers { request.append(field.name, field.value) }
        return TraceExchange(
            method: .get, url: "https://api.example.com/users/1?page=2&key=[redacted]",
            requestHeaders: request, requestBodyBytes: 0, status: status.map { HTTPStatus($0) },
            responseHeaders: status == nil ? nil : ["Content-Type": "application/json"],
            protocolVersion: status == nil ? nil : "2", peerAddress: "192.0.2.7:443",
            isConnectionReused: isReused, bytesReceived: bytes,
            encodedBodyBytes: status == nil ? nil : bytes / 2, chunks: chunks)
    }
}
