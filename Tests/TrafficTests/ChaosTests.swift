// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeInspection
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("Chaos")
struct ChaosTests {
    private let clock = ManualClock()
    private let on = Switch()

    private func client(_ gates: any Gate...) -> (Client, MockTransport) {
        let transport = MockTransport { _ in .ok(text: "content") }
        return (Client(transport, clock: clock, Stack(gates)), transport)
    }

    @Test("It does nothing until its switch is set, and nothing after it is off again")
    func off() async throws {
        let control = Switch(share: 0)
        let (client, transport) = client(Chaos(.error(.connection), switch: control))
        #expect(await code(of: client.get(anywhere)) == nil)
        control.set(share: 1, by: "Ann")
        #expect(await code(of: client.get(anywhere)) == .connection)
        control.set(share: 0, by: "Ann")
        #expect(await code(of: client.get(anywhere)) == nil)
        #expect(transport.sentCount == 2)
        let (untouched, _) = self.client(Chaos(.error(.connection)))
        #expect(await code(of: untouched.get(anywhere)) == nil)
    }

    @Test("An error and a status send nothing, and say that they are made on purpose")
    func instead() async throws {
        let (failing, first) = client(Chaos(.error(.connectTimeout), switch: on))
        let error = await #expect(throws: ClientError.self) {
            try await failing.get(anywhere).response()
        }
        #expect(error?.code == .connectTimeout)
        #expect(error?.message.contains("on purpose") == true)
        let (answering, second) = client(Chaos(.status(503), switch: on))
        let response = try await answering.get(anywhere).response()
        #expect(response.status == 503 && response.headers["X-Turnpike-Chaos"] == "status")
        #expect(first.sentCount + second.sentCount == 0)
    }

    @Test("Latency comes before the request, within the deadline")
    func latency() async throws {
        let (client, transport) = client(
            Deadline(.seconds(5)), Chaos(.latency(.seconds(3)), switch: on))
        let call = Task { await code(of: client.get(anywhere)) }
        try await clock.waitForTimers(2)
        #expect(transport.sentCount == 0)
        clock.advance(by: .seconds(3))
        #expect(await call.value == nil)
        let (late, unsent) = self.client(
            Deadline(.seconds(2)), Chaos(.latency(.seconds(3)), switch: on))
        let other = Task { await code(of: late.get(anywhere)) }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(2))
        #expect(await other.value == .deadlineExceeded)
        #expect(unsent.sentCount == 0)
    }

    @Test("A dropped body breaks off after its head, and a retry outside tries again")
    func droppedBody() async throws {
        let (client, transport) = client(
            Retry(attempts: 3, backoff: .constant(.zero), budget: nil),
            Chaos(.droppedBody, switch: on))
        #expect(await code(of: client.get(anywhere)) == .incomplete)
        #expect(transport.sentCount == 3)
        #expect(try await client.get(anywhere).response().status == 200)
    }

    @Test("Requests that must not be sent twice are spared, unless told otherwise")
    func unrepeatable() async throws {
        let (careful, _) = client(Chaos(.status(500), switch: on))
        let (bold, _) = client(Chaos(.status(500), switch: on, sparesUnrepeatable: false))
        func statuses(_ call: (Client) -> Call) async throws -> [Int] {
            [
                try await call(careful).response().status.code,
                try await call(bold).response().status.code,
            ]
        }
        #expect(try await statuses { $0.request(.post, anywhere) } == [200, 500])
        #expect(try await statuses { $0.request(.post, anywhere).retryable() } == [500, 500])
        #expect(try await statuses { $0.get(anywhere).retryable(false) } == [200, 500])
        #expect(
            try await statuses { client in
                var call = client.request(.post, anywhere)
                call.request.options.isOneTime = true
                return call
            } == [200, 200])
    }

    @Test("Only requests that match have the fault")
    func matching() async throws {
        let (client, _) = client(
            Chaos(.status(500), switch: on) { $0.url.path().hasPrefix("/search") })
        #expect(try await client.get("http://a.example/search/x").response().status == 500)
        #expect(try await client.get("http://a.example/users").response().status == 200)
    }

    @Test("A rate hits that share of the requests, and with a seed the same ones each time")
    func rate() async throws {
        func hits(_ seed: UInt64?) async throws -> [Bool] {
            let (client, _) = client(Chaos(.status(500), rate: 0.3, seed: seed, switch: on))
            var hits: [Bool] = []
            for _ in 0..<400 {
                hits.append(try await client.get(anywhere).response().status == 500)
            }
            return hits
        }
        let first = try await hits(7)
        #expect((80...160).contains(first.count { $0 }))
        #expect(try await hits(7) == first)
        #expect(try await hits(8) != first)
        #expect((80...160).contains(try await hits(nil).count { $0 }))
    }

    @Test("A fault is in the log, in the trace and in a figure")
    func marks() async throws {
        let (notes, store, traces) = (ReportedNotes(), MetricsStore(), TraceStore())
        let client = Client(
            transport: MockTransport { _ in .ok() },
            stack: [notes, Chaos(.status(503), switch: on, meter: store)],
            serializers: SerializerTable(), trace: traces, timeSource: clock)
        _ = try await client.get(anywhere).response()
        #expect(notes.all == ["Chaos: on purpose, it is answered with 503"])
        #expect(
            store.prometheusText.contains(
                "turnpike_chaos_faults_total{turnpike_fault=\"status\"} 1"))
        await client.shutdown()
        #expect(traces.traces.first.map { "\($0)".contains("on purpose") } == true)
    }

    @Test("The linter warns where it is on and nothing bounds the time of a call")
    func lint() {
        let transport = MockTransport([])
        func stories(_ stack: Stack) -> [String] {
            stack.lint(for: transport).filter { $0.gates.contains { $0.name == "Chaos" } }.map(
                \.rule)
        }
        let (slow, idle) = (
            Chaos(.latency(.seconds(3)), switch: on), Chaos(.latency(.seconds(3)))
        )
        #expect(stories([slow, .limits()]) == ["deadline-missing"])
        #expect(stories([slow, .deadline(), .limits()]) == ["deadline-inside-wait"])
        #expect(stories([.deadline(), slow, .limits()]) == [])
        #expect(stories([idle, .limits()]) == [])
    }

    @Test(
        "At its documented place, a fault that is on gives no advice for substitutes",
        arguments: [.error(.connection), .status(503), .droppedBody] as [Chaos.Fault])
    func place(fault: Chaos.Fault) {
        let stack: Stack = [
            .deadline(.seconds(2)), .retry(), .circuitBreaker(), .attemptTimeout(.seconds(1)),
            .limits(), .chaos(fault, switch: on),
        ]
        #expect(stack.lint(for: MockTransport([])).map(\.rule) == [])
    }

    @Test("Facts state nothing of what is off, and why a request has no fault")
    func facts() {
        let gate = Chaos(.status(503), rate: 0.05, switch: on)
        let post = Request(.post, anywhere)
        #expect(gate.facts(for: nil)?.effects == [.answers(.refusal)])
        #expect(gate.facts(for: post)?.passedOver == "the fault is not for this request")
        #expect(gate.facts(for: Request(.get, anywhere))?.passedOver == nil)
        let idle = Chaos(.status(503))
        #expect(idle.facts(for: nil)?.effects == [])
        #expect(idle.facts(for: Request(.get, anywhere))?.passedOver == "it is off")
    }
}
