// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeInspection
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("The caller's deadline")
struct DeadlineFieldTests {
    private let clock = ManualClock()

    @Test(
        "A value in gRPC's form is read, and nothing else",
        arguments: [
            ("250m", .milliseconds(250)), ("1H", .seconds(3600)),
            ("99999999n", .nanoseconds(99_999_999)),
            ("3M", .seconds(180)), ("0S", .zero), ("7u", .microseconds(7)),
            ("00000001S", .seconds(1)),
            ("", nil), ("m", nil), ("250", nil), ("250 m", nil), ("-1S", nil), ("+1S", nil),
            ("1.5S", nil), ("1s", nil), ("123456789m", nil), ("1S, 2S", nil), ("٣S", nil),
            ("1S\u{301}", nil),
        ] as [(String, Duration?)])
    func grpc(text: String, left: Duration?) {
        #expect(DeadlineField.grpc.timeLeft(in: ["Grpc-Timeout": text]) == left)
    }

    @Test("A field with a number has a whole number of its unit, and a field twice says nothing")
    func numbers() {
        let field = DeadlineField.milliseconds("X-Timeout-Ms")
        #expect(field.timeLeft(in: ["X-Timeout-Ms": "1500"]) == .milliseconds(1500))
        #expect(DeadlineField.seconds("X-T").timeLeft(in: ["X-T": "2"]) == .seconds(2))
        for text in ["1500m", "1e3", "0x10", "1500.0", "", "1234567890"] {
            #expect(field.timeLeft(in: ["X-Timeout-Ms": text]) == nil)
        }
        var headers: HTTPHeaders = ["X-Timeout-Ms": "5"]
        headers.append("X-Timeout-Ms", "6")
        #expect(field.timeLeft(in: headers) == nil)
        #expect(field.timeLeft(in: [:]) == nil)
    }

    @Test("Law: what is told is read as no more than was left, and little less")
    func law() {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let left =
                Duration.nanoseconds(Int64(1) << dice.roll(0...61))
                + .nanoseconds(dice.roll(0...999))
            for (field, unit, most) in [
                (.grpc, Duration.nanoseconds(1), Duration.seconds(3600) * 99_999_999),
                (.milliseconds("X"), .milliseconds(1), .milliseconds(99_999_999)),
                (.seconds("X"), .seconds(1), .seconds(99_999_999)),
            ] as [(DeadlineField, Duration, Duration)] {
                let read = field.timeLeft(in: [field.name: field.value(of: left)])
                Law.holds(
                    read.map { $0 <= max(left, unit) } ?? false, run, "\(left) told, \(read as Any)"
                )
                let floor = min(left, most) - max(unit, left / 10_000)
                Law.holds(read.map { $0 >= floor } ?? false, run, "\(left) told, \(read as Any)")
            }
        }
    }

    private func hanging(_ stack: Stack) -> (Client, MockTransport) {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(600)) }
        return (Client(transport, clock: clock, stack), transport)
    }

    @Test(
        "The caller's time ends the call where it is less than the client's, and never extends it",
        arguments: [
            ([.deadline(.seconds(10))], 3, 3), ([.deadline(.seconds(10))], 30, 10), ([], 3, 3),
            ([.group([.deadline(.seconds(10))])], 3, 3),
        ] as [(Stack, Int, Int)])
    func limits(stack: Stack, left: Int, ends: Int) async throws {
        let (client, _) = hanging(stack)
        let end = clock.now.advanced(by: .seconds(left))
        let call = Task { await code(of: client.get(anywhere).deadline(until: end)) }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(ends) - .nanoseconds(1))
        #expect(client.runningCallCount == 1)
        clock.advance(by: .nanoseconds(1))
        #expect(await call.value == .deadlineExceeded)
    }

    @Test("It counts from when the caller asked, and also bounds what one call says of itself")
    func instant() async throws {
        let (client, transport) = hanging([.deadline()])
        let end = clock.now.advanced(by: .seconds(3))
        clock.advance(by: .seconds(3))
        let call = client.get(anywhere).deadline(.seconds(500)).deadline(until: end)
        #expect(await code(of: call) == .deadlineExceeded)
        #expect(transport.sentCount == 0)
        #expect(client.get(anywhere).deadline(until: nil).request.options.isEmpty)
    }

    @Test("The next server is told what is left at each attempt, and nothing without a deadline")
    func propagation() async throws {
        let transport = MockTransport { _ in .status(503) }
        let stack: Stack = [
            .deadline(.seconds(2)),
            .retry(attempts: 3, backoff: .constant(.milliseconds(500)), budget: nil),
            .propagateDeadline(),
        ]
        let client = Client(transport, clock: clock, stack)
        let call = Task { await code(of: client.get(anywhere)) }
        for _ in 0..<2 {
            try await clock.waitForTimers(2)
            clock.advance(by: .milliseconds(500))
        }
        _ = await call.value
        #expect(
            transport.sent.map { $0.request.headers["grpc-timeout"] }
                == ["2000000u", "1500000u", "1000000u"])
        let well = MockTransport { _ in .ok() }
        let (streaming, bare) = (
            Client(well, clock: clock, stack),
            Client(well, clock: clock, [.propagateDeadline(in: .milliseconds("X-T"))])
        )
        _ = try await streaming.get(anywhere).streaming().response()
        _ = try await bare.get(anywhere).response()
        let told = well.sent.map { sent in
            sent.request.headers.contains("grpc-timeout") || sent.request.headers.contains("X-T")
        }
        #expect(told == [false, false])
    }

    @Test("The linter wants it inside a retry")
    func order() {
        let transport = MockTransport([])
        func findings(_ stack: Stack) -> [String] {
            stack.lint(for: transport).filter {
                $0.gates.contains { $0.name == "PropagateDeadline" }
            }
            .map(\.rule)
        }
        #expect(findings([.deadline(), .propagateDeadline(), .retry(), .limits()]).count == 1)
        #expect(findings([.deadline(), .retry(), .propagateDeadline(), .limits()]) == [])
    }
}
