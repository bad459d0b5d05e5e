// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState
@testable import TurnpikeTraffic

@Suite("Corrections of a RateLimit")
struct QuotaCorrectionTests {
    private static let rule = QuotaRule(1, per: .seconds(1000), burst: 100)

    /// What is left after a call, by how many calls of one permit still pass.
    private func left(_ limit: any RateLimiting, _ client: Client) async -> Int {
        for number in 0..<200 where await code(of: client.get(anywhere)) != nil { return number }
        return 200
    }

    @Test("The content of a response tells what a call cost", arguments: [true, false])
    func content(isShared: Bool) async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock)
            let limit = makeLimit(
                [Self.rule], queue: 0,
                over: isShared ? SharedState(store, replicas: 50) : nil)
            let transport = MockTransport { _ in .ok(text: "usage 60") }
            let counting =
                limit
                .cost { _ in 50 }
                .actualCost(upTo: 1000) { _, content in
                    Int(String(decoding: content, as: UTF8.self).dropFirst(6))
                }
            let client = Client(transport, clock: simulation.clock, Stack([counting]))
            #expect(try await client.get(anywhere).serialize(with: Text()) == "usage 60")
            let context = Context(timeSource: simulation.clock)
            try await context.sleep(for: .milliseconds(1))
            let plain = Client(transport, clock: simulation.clock, Stack([limit]))
            #expect(await left(limit, plain) == 40)
        }
    }

    @Test("The head of a response, and a caller, tell what a call cost", arguments: [true, false])
    func head(isShared: Bool) async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock)
            let limit = makeLimit(
                [Self.rule], queue: 0,
                over: isShared ? SharedState(store, replicas: 50) : nil)
            let transport = MockTransport { _ in .ok(headers: ["X-Cost": "20"]) }
            let counting = limit.cost { _ in 50 }.actualCost { Int($0.headers["X-Cost"] ?? "") }
            let client = Client(transport, clock: simulation.clock, Stack([counting]))
            _ = try await client.get(anywhere).response()
            limit.charge(10, for: Request(.get, anywhere), by: simulation.clock)
            let context = Context(timeSource: simulation.clock)
            try await context.sleep(for: .milliseconds(1))
            let plain = Client(transport, clock: simulation.clock, Stack([limit]))
            #expect(await left(limit, plain) == 70)
        }
    }

    @Test("Fields of the server lower what is left, and never raise it", arguments: [true, false])
    func fields(isShared: Bool) async throws {
        try await Simulation(seed: 1).run { simulation in
            let store = FaultyStore(simulation.clock)
            let limit = makeLimit(
                [Self.rule], queue: 0,
                over: isShared ? SharedState(store, replicas: 50) : nil
            ).readsQuotaFields()
            let remaining = ["7", "90"]
            let count = Countdown(1)
            let transport = MockTransport { _ in
                .ok(headers: ["X-RateLimit-Remaining": remaining[count.takeOne() ? 0 : 1]])
            }
            let client = Client(transport, clock: simulation.clock, Stack([limit]))
            _ = try await client.get(anywhere).response()
            let context = Context(timeSource: simulation.clock)
            try await context.sleep(for: .milliseconds(1))
            #expect(await left(limit, client) == 7)
        }
    }

    @Test("A response that a validator inside has refused corrects what is left too")
    func refused() async throws {
        let clock = ManualClock()
        let limit = RateLimit([Self.rule], queue: 0)
        let transport = MockTransport { _ in
            .status(500, headers: ["X-Cost": "20", "X-RateLimit-Remaining": "90"])
        }
        let counting = limit.cost { _ in 50 }.actualCost { Int($0.headers["X-Cost"] ?? "") }
            .readsQuotaFields()
        let client = Client(transport, clock: clock, [counting, Validate()])
        #expect(await code(of: client.get(anywhere)) == .validation)
        let plain = Client(MockTransport { _ in .ok() }, clock: clock, Stack([limit]))
        #expect(await left(limit, plain) == 80)
    }

    @Test("If nothing is left until a time, a cool-down begins")
    func spent() async throws {
        let clock = ManualClock()
        let limit = RateLimit(perSecond: 100, burst: 10, queue: 0, cooldowns: Cooldowns())
            .readsQuotaFields()
        let client = Client(
            MockTransport { _ in
                .ok(headers: ["RateLimit": #""minute";r=0;t=30"#])
            }, clock: clock, Stack([limit]))
        _ = try await client.get(anywhere).response()
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.retryAfter == .seconds(30))
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let fields: HTTPHeaders
        let expected: [QuotaLeft]
        var testDescription: String { fields.description }
    }

    @Test(
        "The fields of the draft and the older ones are read",
        arguments: [
            Case(
                fields: [
                    "RateLimit": #""a";r=5;t=10, "b";r=0"#,
                    "RateLimit-Policy": #""a";q=100;w=60, "b";q=9;qu="content-bytes""#,
                ],
                expected: [
                    QuotaLeft(permits: 5, reset: .seconds(10), quota: 100, window: .seconds(60))
                ]),
            Case(
                fields: [
                    "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "3",
                    "X-RateLimit-Reset": "12",
                ], expected: [QuotaLeft(permits: 3, reset: .seconds(12), quota: 100)]),
            Case(
                fields: ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000060"],
                expected: [QuotaLeft(permits: 0, reset: .seconds(60))]),
            Case(
                fields: ["X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "1600000000"],
                expected: [QuotaLeft(permits: 4)]),
            Case(fields: ["X-RateLimit-Remaining": "-1"], expected: []),
            Case(fields: ["X-RateLimit-Remaining": "nan"], expected: []),
            Case(
                fields: ["X-RateLimit-Remaining": "1e300"],
                expected: [QuotaLeft(permits: 1_000_000_000_000)]),
            Case(fields: [:], expected: []),
        ])
    func parsing(_ item: Case) {
        #expect(QuotaLeft.all(in: item.fields, at: 1_700_000_000) == item.expected)
    }

    @Test("A field belongs to the rule with its period, its number, or the longest period")
    func rules() {
        let rules = [QuotaRule(10, per: .seconds(1)), QuotaRule(100, per: .seconds(60))]
        #expect(QuotaLeft(permits: 1, window: .seconds(1)).rule(of: rules) == 0)
        #expect(QuotaLeft(permits: 1, quota: 10).rule(of: rules) == 0)
        #expect(QuotaLeft(permits: 1).rule(of: rules) == 1)
    }

    @Test("A long key is whole in the store, and cut in errors and logs")
    func longKey() {
        let key = QuotaKey(origin: nil, part: String(repeating: "x", count: 9000))
        #expect(key.text(in: "g").count > 9000 && key.description.count < 100)
        let other = QuotaKey(origin: nil, part: String(repeating: "x", count: 9001))
        #expect(key.text(in: "g") != other.text(in: "g"))
    }
}
