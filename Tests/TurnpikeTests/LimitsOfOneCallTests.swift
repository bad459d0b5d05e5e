// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

/// What one call sets for itself, over the standard stack.
@Suite("The time limits of one call")
struct LimitsOfOneCallTests {
    private let clock = ManualClock()

    private func client(_ response: MockResponse, _ stack: Stack = .standard) -> Client {
        Client(
            baseURL: "http://a.example/", transport: MockTransport { _ in response }, stack: stack,
            timeSource: clock)
    }

    @Test("A report that takes long gets its time for each attempt, and its deadline for all")
    func slowReport() async throws {
        let client = client(.ok(text: "done").delayed(by: .seconds(40)))
        async let report = client.get("report").deadline(.seconds(120))
            .attemptTimeout(.seconds(60)).string()
        try await clock.waitForTimer(in: .seconds(60))
        try await clock.waitForTimer(in: .seconds(40))
        clock.advance(by: .seconds(40))
        #expect(try await report == "done")
    }

    @Test("A short attempt timeout lets the retry of the stack try again")
    func shortAttempts() async throws {
        let transport = MockTransport([
            .any(.ok().delayed(by: .seconds(40)), .ok(text: "second"))
        ])
        let client = Client(
            baseURL: "http://a.example/", transport: transport,
            stack: [.retry(backoff: .constant(.seconds(1)))], timeSource: clock)
        async let answer = client.get("quick").attemptTimeout(.milliseconds(500)).string()
        try await clock.waitForTimer(in: .milliseconds(500))
        try await clock.waitForTimer(in: .seconds(40))
        clock.advance(by: .milliseconds(500))
        try await clock.waitForTimer(in: .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(try await answer == "second")
        #expect(transport.sentCount == 2)
    }

    @Test("A body that may stand still for a minute is read to its end")
    func slowBody() async throws {
        let client = client(.stream([Data("late".utf8)], every: .seconds(50)))
        async let answer = client.get("build/log").deadline(.seconds(600))
            .idleTimeout(.seconds(60)).string()
        for _ in 0..<2 {
            try await clock.waitForTimer(in: .seconds(50))
            clock.advance(by: .seconds(50))
        }
        #expect(try await answer == "late")
    }

    @Test("A body that stands still for longer than its call allows is an error")
    func stalledBody() async throws {
        let client = client(.stream([Data("late".utf8)], every: .seconds(50)))
        let call = Task {
            try await client.get("log").retryable(false).idleTimeout(.seconds(5)).data()
        }
        try await clock.waitForTimer(in: .seconds(5))
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .idleTimeout)
    }

    @Test("An option of a user's own can have its gate next to the transport")
    func ownOption() async throws {
        enum Stamp: RequestOptionKey {
            static func gate(for value: String) -> (any Gate)? { Stamping() }
            static var gatePlace: GatePlace { .innermost }
        }
        struct Stamping: SynchronousRequestAdapter {
            func adapt(_ request: inout Request, context: Context) {
                request.headers["X-Stamp"] = request.options[Stamp.self].map {
                    "\($0) \(context.attempt)"
                }
            }
        }
        let transport = MockTransport([.any(.status(503), .ok())])
        let client = Client(
            baseURL: "http://a.example/", transport: transport,
            stack: [.retry(backoff: .constant(.zero))])
        try await client.get("x").option(Stamp.self, "a").empty()
        #expect(transport.sent.map { $0.request.headers["X-Stamp"] } == ["a 1", "a 2"])
    }
}
