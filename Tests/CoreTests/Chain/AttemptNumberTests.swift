// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeInspection
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("The numbers of attempts")
struct AttemptNumberTests {
    private let notes = Notes()

    /// Sends each request a second time, as a hedge or an answer to a challenge does.
    private struct Twice: Interceptor {
        var wait = Duration.zero

        func intercept(
            _ request: Request, context: Context, next: Next
        ) async throws -> Response {
            async let first = next(request)
            if wait > .zero { try await context.sleep(for: wait) } else { _ = try? await first }
            let second = try await next.attempt(request)
            _ = try? await first
            return second
        }
    }

    private struct Again: RequestRetrier {
        func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
            outcome.attempts < 2 ? .retry(after: .seconds(1)) : .stop
        }
    }

    private struct Told: RequestLogger {
        let notes: Notes

        func log(_ event: CallEvent) {
            switch event.kind {
            case .sent: notes.add("attempt \(event.attempt)")
            case .retrying(_, let attempt): notes.add("then attempt \(attempt)")
            default: break
            }
        }
    }

    /// Notes the attempt, and passes the request on only after a time.
    private struct Slow: Interceptor {
        let notes: Notes

        func intercept(
            _ request: Request, context: Context, next: Next
        ) async throws -> Response {
            notes.add("attempt \(context.attempt)")
            try await context.sleep(for: .seconds(5))
            return try await next(request)
        }
    }

    // The attempts of the call's trace, and the text of its error.
    private func run(_ gates: any Gate...) async throws -> (attempts: [String], error: String) {
        try await Simulation(seed: 1).run {
            [gates] simulation async throws -> (attempts: [String], error: String) in
            let down = MockTransport { _ in throw ClientError(.connection, "down") }
            let client = Client(down, clock: simulation.clock, Stack(gates))
            let call = client.get(anywhere).traced()
            var error = ""
            do {
                _ = try await call.response()
            } catch let failure {
                error = "\(failure)"
            }
            let names = (call.trace?.spans ?? []).map(\.name)
            return (names.filter { $0.hasPrefix("attempt") }, error)
        }
    }

    @Test("A log announces the attempt that it then tells of, and that the trace has")
    func announced() async throws {
        let (attempts, _) = try await run(Told(notes: notes), Again(), Twice())
        #expect(
            notes.all == ["attempt 1", "attempt 2", "then attempt 3", "attempt 3", "attempt 4"])
        #expect(attempts == ["attempt 1", "attempt 2", "attempt 3", "attempt 4"])
    }

    @Test("A copy has a number of its own, though the first request is not sent yet")
    func copies() async throws {
        _ = try await run(Twice(wait: .seconds(1)), Slow(notes: notes))
        #expect(notes.all == ["attempt 1", "attempt 2"])
    }

    @Test("An error counts the attempts that it lists, and what was sent besides")
    func error() async throws {
        let plain = try await run(Again()).error
        #expect(plain.contains("[2 attempts: connection in 0 s, connection in 0 s]"), "\(plain)")
        let doubled = try await run(Again(), Twice()).error
        let both = "[2 attempts, sent 4 times: connection in 0 s, connection in 0 s]"
        #expect(doubled.contains(both), "\(doubled)")
        let once = try await run(Twice()).error
        #expect(once.contains("[sent 2 times]"), "\(once)")
    }
}
