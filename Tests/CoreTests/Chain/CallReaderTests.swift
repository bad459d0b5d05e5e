// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeTesting

@Suite("Readers of a call")
struct CallReaderTests {
    /// Notes the steps in the order in which they come, each with the number of its part.
    private final class Steps: CallReader {
        private let state = Mutex<[String]>([])

        var lines: [String] { state.withLock { $0 } }

        func read(_ step: CallStep, in context: Context) {
            let text =
                switch step {
                case .entered(.call, let outer): "call in \(outer)"
                case .entered(.gate(let pass), let outer): "\(pass.gateName) in \(outer)"
                case .entered(.attempt(let number), let outer): "attempt \(number) in \(outer)"
                case .entered(.wait(let name), let outer): "\(name) in \(outer)"
                case .entered(.exchange(let request), let outer): "\(request.method) in \(outer)"
                case .left(.success(let status)): "left \(status?.code ?? 0)"
                case .left(.failure): "failed"
                case .note(let gate, let message, let describesPass):
                    "\(gate): \(message) \(describesPass)"
                case .counted(let figure): "counted \(figure.name)"
                case .sent: "sent"
                case .reported(let reports): "\(reports.count) reports"
                case .received(let response, _): "received \(response.status.code)"
                case .retrying(_, let attempt, let outcome):
                    "then \(attempt) after \(outcome.status?.code ?? 0)"
                case .redirecting: "redirecting"
                case .responded(let response): "responded \(response.status.code)"
                }
            state.withLock { $0.append("\(context.part) \(text)") }
        }
    }

    private struct Again: RequestRetrier {
        func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
            outcome.status?.code == 503 ? .retry(after: .zero) : .stop
        }
    }

    private struct Stamp: SynchronousRequestAdapter {
        func adapt(_ request: inout Request, context: Context) { request.headers["X-Stamp"] = "1" }
    }

    private func stack() -> Stack {
        [
            Around { request, context, next in
                context.report("asks", by: "Around", describesPass: true)
                await context.report(waitingFor: "a turn") { context in
                    await context.report(waitingFor: "a part of the turn") { _ in }
                }
                return try await next(request)
            }, Again(), Stamp(),
        ]
    }

    @Test("A reader is told each step, with the number of its part, in order")
    func steps() async throws {
        let steps = Steps()
        let client = Client(
            MockTransport([.any(.status(503), .status(204))]), stack())
        var call = client.get(anywhere)
        call.readers = [steps]
        _ = try await call.response()
        #expect(
            steps.lines == [
                "0 call in -1", "1 Around in 0", "1 Around: asks true", "2 a turn in 1", "2 left 0",
                "3 Again in 1", "4 attempt 1 in 3", "5 Stamp in 4", "5 left 0", "6 GET in 4",
                "6 sent",
                "6 received 503", "4 left 503", "3 then 2 after 503", "7 back-off in 3", "7 left 0",
                "8 attempt 2 in 3", "9 Stamp in 8", "9 left 0", "10 GET in 8", "10 sent",
                "10 received 204", "8 left 204", "3 left 204", "1 left 204", "0 responded 204",
                "0 left 204",
            ])
    }

    @Test("A client's reader and those of a call are told the same; other calls are not read")
    func several() async throws {
        let (all, one, other) = (Steps(), Steps(), Steps())
        let client = Client(
            transport: MockTransport { _ in .status(204) }, stack: stack(),
            serializers: SerializerTable(), trace: all, timeSource: ManualClock())
        var call = client.get(anywhere)
        call.readers = [one, other]
        _ = try await call.response()
        #expect(!one.lines.isEmpty)
        #expect(all.lines == one.lines && other.lines == one.lines)
        _ = try await client.get(anywhere).response()
        #expect(all.lines.count == 2 * one.lines.count)
    }

    @Test("Whoever throws has failed, from the inside to the call")
    func failures() async throws {
        let steps = Steps()
        let client = Client(
            MockTransport([.any(.connectionRefused)]), Around { try await $2($0) })
        var call = client.get(anywhere)
        call.readers = [steps]
        await expectError(.connection) { try await call.response() }
        #expect(
            steps.lines == [
                "0 call in -1", "1 Around in 0", "2 GET in 1", "2 sent", "2 failed", "1 failed",
                "0 failed",
            ])
    }
}
