// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

// The code of the page "Cookbook: operation and tests"; a test compares them.

@Suite("Cookbook: tests")
struct TestingRecipes {
    @Test("A charge is sent again with the same key")
    func charges() async throws {
        let busy = MockResponse.status(503, headers: ["Retry-After": "7"])
        let transport = MockTransport([
            .on(.post, "/v1/charges", where: [.json("id", 7)], busy, .ok(json: ["paid": true]))
        ])
        let clock = ManualClock()
        let client = Client(
            baseURL: "https://api.example.com/v1/", transport: transport, stack: .standard,
            timeSource: clock)
        async let answer = charge(Order(id: 7, total: 10), client)
        try await clock.waitForTimer(in: .seconds(7))  // the wait before the second attempt
        clock.advance(by: .seconds(7))
        #expect(try await answer["paid"] == true)
        let keys = transport.sent.map { $0.request.headers[.idempotencyKey] }
        #expect(keys == ["order-7-charge", "order-7-charge"])
        try transport.verify()
    }

    private let recordings = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Recordings")

    @Test("Orders of the real service can be read")
    func recorded() async throws {
        let cassette = try CassetteTransport(
            file: recordings.appending(path: "orders.har"), mode: .fromEnvironment("CASSETTES"))
        let client = Client(
            baseURL: "https://api.example.com/v1/", transport: cassette, stack: .standard)
        #expect(try await openTotal(client) == 60)
        try cassette.verify()
    }

    @Test("An export survives a bad network", arguments: 1...20 as ClosedRange<UInt64>)
    func badNetwork(seed: UInt64) async throws {
        let lines = String(repeating: #"{"id":1,"total":1}"# + "\n", count: 200)
        let service = MockTransport { _ in .ok(text: lines) }
        let faulty = FaultTransport(
            service, seed: seed, [.refuse(share: 0.2), .reset(after: 0...4000, share: 0.3)])
        let count = try await Simulation(seed: seed).run { simulation in
            let client = Client(
                baseURL: "https://api.example.com/v1/", transport: faulty,
                stack: [.deadline(.seconds(60)), .retry(attempts: 10, budget: nil)],
                timeSource: simulation.clock, randomSource: simulation.random)
            return try await client.get("export").string().split(separator: "\n").count
        }
        #expect(count == 200)
    }
}
