// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("FaultTransport")
struct FaultTransportTests {
    private static let url: Target = "https://a.example/"

    private func client(
        _ faults: [Fault], seed: UInt64 = 1, clock: any TimeSource = ManualClock(),
        answer: MockResponse = .ok(text: "0123456789"), stack: Stack = []
    ) -> (Client, FaultTransport, MockTransport) {
        let mock = MockTransport { _ in answer }
        let transport = FaultTransport(mock, seed: seed, faults)
        let client = Client(
            transport: transport, stack: stack, timeSource: clock,
            randomSource: SeededRandomSource(seed: 1))
        return (client, transport, mock)
    }

    @Test("A refused request reaches no server, a lost one does")
    func connections() async throws {
        let (refusing, events, untouched) = client([.refuse(share: 1)])
        let refused = await #expect(throws: ClientError.self) {
            try await refusing.get(Self.url).data()
        }
        #expect(refused?.code == .connection && refused?.transfer?.isUnsent == true)
        #expect(untouched.sentCount == 0)
        #expect(events.events.map(\.description) == ["call 1 send 1: refuse"])
        let (losing, _, reached) = client([.lose(share: 1)])
        let lost = await #expect(throws: ClientError.self) {
            try await losing.post(Self.url, body: .text("x")).data()
        }
        #expect(lost?.transfer?.isUnsent == false && reached.sentCount == 1)
    }

    @Test("A body breaks off after the given number of bytes, and the rest is closed")
    func broken() async throws {
        for (fault, code) in [
            (Fault.reset(after: 4...4, share: 1), ClientError.Code.connection),
            (.truncate(after: 4...4, share: 1), .incomplete),
        ] {
            let (client, _, _) = client([fault])
            var got = Data()
            let body = try await client.get(Self.url).response().body
            let error = await #expect(throws: ClientError.self) {
                for try await chunk in body { got.append(chunk) }
            }
            #expect(error?.code == code)
            #expect(got == Data("0123".utf8))
        }
        let (whole, _, _) = client([.reset(after: 10...10, share: 1)])
        #expect(try await whole.get(Self.url).data().count == 10, "there is nothing behind its end")
    }

    @Test("A range may end at the largest number")
    func openRange() async throws {
        let (client, _, _) = client([.truncate(after: 0...Int.max, share: 1)])
        _ = try await client.get(Self.url).response()
    }

    @Test("A drip takes its time on the clock and loses no byte")
    func drip() async throws {
        let simulation = Simulation(seed: 1)
        let text = try await simulation.run { simulation in
            let mock = MockTransport { _ in .ok(text: "0123456789") }
            let transport = FaultTransport(
                mock, seed: 1, [.drip(bytes: 3, every: .seconds(2), share: 1)])
            let client = Client(
                transport: transport, stack: [], timeSource: simulation.clock,
                randomSource: simulation.random)
            return try await client.get(Self.url).string()
        }
        #expect(text == "0123456789")
        #expect(simulation.elapsed == .seconds(8))
    }

    @Test("Bursts hit all requests within them and none outside")
    func bursts() async throws {
        let clock = ManualClock()
        let (client, _, _) = client(
            [.status(503, share: 0).inBursts(of: .seconds(10), every: .seconds(60))], clock: clock)
        var bad: [Int] = []
        for second in 0..<60 {
            if try await client.get(Self.url).response().status == 503 { bad.append(second) }
            clock.advance(by: .seconds(1))
        }
        #expect((9...11).contains(bad.count))
        #expect(bad == Array(bad[0]..<(bad[0] + bad.count)), "one stretch")
    }

    @Test("Conditions limit a fault to some requests")
    func conditions() async throws {
        let (client, _, _) = client([.refuse(share: 1).only(where: .path("/bad"))])
        _ = try await client.get("https://a.example/good").data()
        await expectError(.connection) {
            try await client.get("https://a.example/bad").data()
        }
    }

    @Test("The same seed gives the same faults whatever else runs, another seed others")
    func repeats() async throws {
        func run(_ seed: UInt64, order: UInt64) async throws -> [FaultTransport.Event] {
            try await Simulation(seed: order).run { simulation in
                let mock = MockTransport { _ in
                    MockResponse.ok(text: "x").delayed(
                        by: .uniform(.milliseconds(1) ... .milliseconds(90)))
                }
                let transport = FaultTransport(
                    mock, seed: seed,
                    [
                        .refuse(share: 0.3), .reset(after: 0...0, share: 0.2),
                        .latency(.exponential(mean: .milliseconds(10)), share: 0.5),
                    ])
                let client = Client(
                    transport: transport, stack: [.retry(attempts: 3)],
                    timeSource: simulation.clock, randomSource: SeededRandomSource(seed: 4))
                let calls = (0..<200).map { _ in client.get(Self.url).start(.data) }
                for call in calls { _ = try? await call.value }
                return transport.events
            }
        }
        let first = try await run(1, order: 1)
        #expect(first.count > 50)
        #expect(first == (try await run(1, order: 1)))
        #expect(first != (try await run(2, order: 1)))
    }
}
