import Foundation
import Turnpike

/// What each gate costs in its steady state: one call over a mock transport, all of it well, less
/// the same call through a gate that does nothing.
enum GatesBench {
    /// One line of the table; a gate is added here by its name.
    private struct Row {
        let name: String
        let stack: Stack
        /// Why it may cost more than a microsecond.
        var reason: String?
    }

    private static let ownTask =
        "each attempt has a task and a context of its own, so that the slower one holds up nobody"

    private static let rows = [
        Row(name: "circuitBreaker", stack: [.circuitBreaker()]),
        Row(name: "rateLimit", stack: [.rateLimit(perSecond: 1e9, burst: 1_000_000)]),
        Row(name: "concurrencyLimit", stack: [.concurrencyLimit()]),
        Row(
            name: "concurrencyLimit-adaptive",
            stack: [.concurrencyLimit(adaptive: AdaptiveLimit())]),
        Row(name: "retry", stack: [.retry()]),
        Row(name: "hedge-fixed", stack: [.hedge(after: .seconds(5))], reason: ownTask),
        Row(
            name: "hedge-percentile",
            stack: [.hedge(after: .percentile(initially: .seconds(5)))], reason: ownTask),
        Row(
            name: "coalesce", stack: [.coalesce()],
            reason: "the exchange outlives its caller, so it has a task and a context of its own"),
        Row(name: "fallback", stack: [.fallback(status: .ok)]),
    ]

    private struct Pass: Interceptor {
        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            try await next(request)
        }
    }

    static func run(_ report: Report) async throws {
        let content = Data(repeating: 0x61, count: 1024)
        let transport = MockTransport(recordLimit: 0) { _ in .status(200, body: content) }
        let all = [Row(name: "pass", stack: [Pass()])] + rows
        let clients = all.map { Client(transport: transport, stack: $0.stack) }
        let request = Request(.get, "http://example.com/users/1")
        var times = all.map { _ in [Double]() }
        for round in 0..<21 {
            for (index, client) in clients.enumerated() {
                let nanoseconds = try await measure(client, request, calls: 2000)
                if round > 0 { times[index].append(nanoseconds) }
            }
        }
        let base = median(times[0])
        for (row, times) in zip(all, times) {
            let time = median(times)
            var fields: [(String, Report.Value)] = [
                ("bench", "gates"), ("gate", .text(row.name)), ("ns", .number(time.rounded())),
                ("added", .number((time - base).rounded())),
            ]
            if let reason = row.reason { fields.append(("because", .text(reason))) }
            report.line(fields)
        }
    }

    private static func measure(
        _ client: Client, _ request: Request, calls: Int
    ) async throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        for _ in 0..<calls {
            let response = try await client.request(request).response()
            _ = try await response.body.collect(upTo: 4096)
        }
        return Double((clock.now - start) / .nanoseconds(1)) / Double(calls)
    }
}
