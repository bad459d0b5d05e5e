// SPDX-License-Identifier: Apache-2.0

import Foundation
import MallocCounter
import Turnpike
import TurnpikeInspection

/// The cost of the chain: one call over a mock transport, including the context and reading the
/// body.
enum ChainBench {
    private struct Case {
        let name: String
        let client: Client
        var isTraced = false
    }

    private struct Pass: Interceptor {
        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            try await next(request)
        }
    }

    private struct Adapter: SynchronousRequestAdapter {
        let name: HTTPHeaders.Name
        func adapt(_ request: inout Request, context: Context) { request.headers[name] = "1" }
    }

    private struct Retrier: RequestRetrier {
        func retry(_ outcome: Outcome, context: Context) async -> RetryDecision { .stop }
    }

    private struct Validator: ResponseValidator {
        func validate(_ response: Response, for request: Request, context: Context) throws {
            guard response.status.isSuccessful else { throw ClientError(.validation, "status") }
        }
    }

    private struct Logger: RequestLogger {
        func log(_ event: CallEvent) {}
    }

    private struct Recorder: MetricsRecorder {
        func record(_ measurement: CallMeasurement) {}
    }

    static func run(_ report: Report, only: Set<String>) async throws {
        let content = Data(repeating: 0x61, count: 1024)
        let transport = MockTransport(recordLimit: 0) { _ in .status(200, body: content) }
        let five: [any Gate] = (0..<5).map { Adapter(name: .init("X-Header-\($0)")) }
        let roles: [any Gate] = [
            Recorder(), Logger(), Retrier(), Validator(), Adapter(name: "X-A"),
        ]
        let cases = [
            ("mock", Stack()), ("gates-1", Stack([Pass()])),
            ("gates-5", Stack(Array(repeating: Pass(), count: 5))),
            ("gates-10", Stack(Array(repeating: Pass(), count: 10))),
            ("adapters-5", Stack(five)), ("roles-5", Stack(roles)), ("standard", Stack.standard),
        ].flatMap { name, stack in
            let client = Client(transport: transport, stack: stack)
            return [
                Case(name: name, client: client),
                Case(name: name + "-traced", client: client, isTraced: true),
            ]
        }.filter { only.isEmpty || only.contains($0.name) }
        let request = Request(.get, "http://example.com/users/1")
        var times: [String: [Double]] = [:]
        var mallocs: [String: Double] = [:]
        for round in 0..<15 {
            for one in cases {
                let (nanoseconds, count) = try await measure(one, request, calls: 5000)
                if round > 0 { times[one.name, default: []].append(nanoseconds) }
                mallocs[one.name] = count
            }
        }
        let base = median(times["mock"] ?? times[cases.first?.name ?? ""] ?? [])
        for one in cases {
            let time = median(times[one.name] ?? [])
            var fields: [(String, Report.Value)] = [
                ("bench", "chain"), ("case", .text(one.name)), ("ns", .number(time.rounded())),
                ("mallocs", .number(((mallocs[one.name] ?? 0) * 10).rounded() / 10)),
            ]
            if !report.json {
                fields.append(("ratio", .number((time / base * 100).rounded() / 100)))
            }
            report.line(fields)
        }
    }

    private static func measure(
        _ one: Case, _ request: Request, calls: Int
    ) async throws -> (nanoseconds: Double, mallocs: Double) {
        let clock = ContinuousClock()
        let before = malloc_count()
        let start = clock.now
        for _ in 0..<calls {
            let plain = one.client.request(request)
            let response = try await (one.isTraced ? plain.traced() : plain).response()
            _ = try await response.body.collect(upTo: 4096)
        }
        let time = clock.now - start
        let count = malloc_count() - before
        return (Double(time / .nanoseconds(1)) / Double(calls), Double(count) / Double(calls))
    }
}
