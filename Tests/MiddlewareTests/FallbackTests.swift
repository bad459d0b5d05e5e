// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Fallback")
struct FallbackTests {
    private let clock = ManualClock()

    private func client(_ answer: MockResponse, _ gates: any Gate...) -> Client {
        Client(MockTransport { _ in answer }, clock: clock, Stack(gates))
    }

    @Test(
        "Failures are replaced, responses are not",
        arguments: [
            (MockResponse.status(503), 200), (.status(500), 200), (.connectionLost, 200),
            (.status(404), 404), (.status(201), 201),
        ])
    func outcomes(answer: MockResponse, expected: Int) async throws {
        let client = client(answer, Fallback(status: .ok, body: Data("kept".utf8)))
        let response = try await client.get(anywhere).response()
        #expect(response.status.code == expected)
        #expect(response.url.absoluteString == "http://a.example/x")
    }

    @Test("A closure sees the outcome, inside a validator or outside")
    func closure() async throws {
        let fallback = Fallback { outcome, _ in
            .init(
                to: outcome.request, status: .ok, headers: ["Was": "\(outcome.status?.code ?? 0)"])
        }
        for stack in [[fallback, Validate()] as [any Gate], [Validate(), fallback]] {
            let client = Client(MockTransport { _ in .status(502) }, clock: clock, Stack(stack))
            #expect(try await client.get(anywhere).response().headers["Was"] == "502")
        }
    }

    @Test("An error of the closure fails the call")
    func throwing() async throws {
        struct Mine: Error {}
        let client = client(.status(503), Fallback { _, _ in throw Mine() })
        await #expect(throws: Mine.self) { try await client.get(anywhere).response() }
    }

    @Test("A cancelled call gets no fallback; an inner deadline is a failure like others")
    func givenUp() async throws {
        let fallback = Fallback(status: .ok)
        let slow = MockResponse.ok().delayed(by: .seconds(60))
        let hanging = client(slow, fallback)
        let cancelled = Task { try await hanging.get(anywhere).response() }
        try await clock.waitForTimers(1)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let stacks: [([any Gate], ClientError.Code?)] = [
            ([fallback, Deadline(.seconds(1))], nil),
            ([Deadline(.seconds(1)), fallback], .deadlineExceeded),
        ]
        for (stack, expected) in stacks {
            let client = Client(MockTransport { _ in slow }, clock: clock, Stack(stack))
            let call = Task { await code(of: client.get(anywhere)) }
            try await clock.waitForTimers(2)
            clock.advance(by: .seconds(1))
            #expect(await call.value == expected)
        }
    }
}
