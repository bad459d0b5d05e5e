// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// What an error tells of `Retry-After`, and of why nothing was tried again.
@Suite("Retry-After in errors")
struct RetryAfterTests {
    enum Order: CaseIterable {
        case outside, inside

        /// A validator outside of the retry, as in the standard stack, or inside.
        func stack(_ retry: Retry) -> Stack {
            switch self {
            case .outside: [.validate(), retry]
            case .inside: [retry, .validate()]
            }
        }
    }

    private let clock = ManualClock()

    private func error(
        _ stack: Stack, _ method: HTTPMethod = .get, status: HTTPStatus = 503, after: String?,
        _ change: @escaping @Sendable (Call) -> Call = { $0 }
    ) async throws -> ClientError? {
        var headers = HTTPHeaders()
        if let after { headers["Retry-After"] = after }
        let answer = MockResponse.status(status, headers: headers, body: Data("later".utf8))
        // Waits take no time, and the date is that of the dates below.
        return try await Simulation(seed: 1).run { simulation in
            let client = Client(
                MockTransport { _ in answer }, clock: simulation.clock, stack)
            do {
                _ = try await change(client.request(method, anywhere)).serialize(with: Text())
                return nil
            } catch {
                return error as? ClientError
            }
        }
    }

    @Test("A Retry-After above the limit is reported with the limit", arguments: Order.allCases)
    func beyondLimit(order: Order) async throws {
        for wish in ["120", "Tue, 14 Nov 2023 22:15:20 GMT"] {
            let error = try #require(
                try await error(order.stack(Retry(maxRetryAfter: .seconds(60))), after: wish))
            #expect(error.code == .validation && error.attempts == 1)
            #expect(error.retryAfter == .seconds(120))
            #expect(
                error.message.hasSuffix(
                    "; it was not tried again: the server asks to wait 120 s, which is longer than"
                        + " maxRetryAfter (60 s)"))
            #expect(error.description.contains("not tried again"))
        }
    }

    @Test("A Retry-After that was obeyed in vain is reported", arguments: Order.allCases)
    func obeyed(order: Order) async throws {
        let error = try #require(try await error(order.stack(Retry(attempts: 2)), after: "5"))
        #expect(error.attempts == 2 && error.retryAfter == .seconds(5))
        #expect(
            error.message.hasSuffix("; it was not tried again: the retry is limited to 2 attempts"))
    }

    @Test("A request that may not be repeated says so", arguments: Order.allCases)
    func unrepeatable(order: Order) async throws {
        let posted = try #require(try await error(order.stack(Retry()), .post, after: "5"))
        #expect(posted.attempts == 1 && posted.retryAfter == .seconds(5))
        #expect(posted.message.contains("not tried again: POST may have an effect each time"))
        let marked = try await error(order.stack(Retry()), after: "5") { $0.retryable(false) }
        #expect(marked?.retryAfter == .seconds(5))
        #expect(marked?.message.contains("not tried again: the call is marked") == true)
        let once = try await error(order.stack(Retry()), .put, after: "5") { call in
            var call = call
            call.request.body = .stream(replayable: false) {
                AsyncStream { continuation in
                    continuation.yield(Data("x".utf8))
                    continuation.finish()
                }
            }
            return call
        }
        #expect(once?.attempts == 1 && once?.retryAfter == .seconds(5))
        #expect(once?.message.hasSuffix("the request's body cannot be sent a second time") == true)
    }

    @Test("A spent budget says so", arguments: Order.allCases)
    func budget(order: Order) async throws {
        let budget = RetryBudget(ratio: 0, floorPerSecond: 0)
        let error = try #require(try await error(order.stack(Retry(budget: budget)), after: "5"))
        #expect(error.retryAfter == .seconds(5))
        #expect(error.message.contains("budget"))
    }

    @Test("Retry-After is reported even without a retry, and for statuses that are not retried")
    func unlisted() async throws {
        #expect(try await error([.validate()], after: "7")?.retryAfter == .seconds(7))
        let moved = try await error([.validate(), .retry()], status: 404, after: "7")
        #expect(moved?.retryAfter == .seconds(7))
        #expect(moved?.message.contains("tried again") == false)
        #expect(try await error([.validate(), .retry()], after: nil)?.retryAfter == nil)
    }

    @Test("A Retry-After beyond the deadline is reported by the deadline's error")
    func deadline() async throws {
        let transport = MockTransport { _ in .status(503, headers: ["Retry-After": "20"]) }
        let client = Client(transport, clock: clock, [.deadline(.seconds(5)), .retry()])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .deadlineExceeded && error?.retryAfter == .seconds(20))
    }

    @Test("The reason belongs to the outcome, not to a later error")
    func otherErrors() async throws {
        struct Broken: ContentSerializer {
            func serialize(_ content: Data, of head: ResponseHead) throws -> String {
                throw ClientError(.serialization, "no")
            }
        }
        let transport = MockTransport { _ in .status(503, headers: ["Retry-After": "120"]) }
        let answer = Around { request, _, next in
            _ = try await next(request)
            return Response(to: request, status: 200, body: ResponseBody(Data("x".utf8)))
        }
        let client = Client(transport, clock: clock, [answer, .retry()])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).serialize(with: Broken())
        }
        #expect(error?.code == .serialization && error?.retryAfter == nil)
        #expect(error?.message.contains("tried again") == false)
    }

    @Test("An outer retry that waits longer is not held back by an inner one")
    func outer() async throws {
        let transport = MockTransport([
            .any(.status(503, headers: ["Retry-After": "120"]), .ok())
        ])
        let client = Client(
            transport, clock: clock,
            [
                .validate(), .retry(maxRetryAfter: .seconds(600)),
                .retry(maxRetryAfter: .seconds(60)),
            ])
        async let response = client.get(anywhere).response()
        try await clock.waitForTimer(in: .seconds(120))
        clock.advance(by: .seconds(120))
        #expect(try await response.status == 200)
    }
}
