// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeInspection
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Switched")
struct SwitchedTests {
    private let clock = ManualClock()

    private func sends(_ control: Switch, _ notes: ReportedNotes = ReportedNotes()) async -> Int {
        let transport = MockTransport { _ in .status(503) }
        let client = Client(
            transport, clock: clock,
            [
                notes,
                .switched(
                    by: control, [.retry(attempts: 3, backoff: .constant(.zero), budget: nil)]),
            ])
        _ = try? await client.get(anywhere).response()
        return transport.sentCount
    }

    @Test("A gate that is off is passed over, and works again once it is on, in the same client")
    func turning() async throws {
        let control = Switch()
        let transport = MockTransport { _ in .status(503) }
        let client = Client(
            transport, clock: clock,
            .switched(by: control, [.retry(attempts: 3, backoff: .constant(.zero), budget: nil)]))
        var counts: [Int] = []
        for share in [nil, 0, 1] as [Double?] {
            if let share { control.set(share: share, by: "Ann") }
            let before = transport.sentCount
            _ = try await client.get(anywhere).response()
            counts.append(transport.sentCount - before)
        }
        #expect(counts == [3, 1, 3])
    }

    @Test("Each act is logged once, by the next call, with who it was; the same share is no act")
    func acts() async {
        let (control, notes) = (Switch(), ReportedNotes())
        #expect(await sends(control, notes) == 3)
        control.set(share: 0, by: "Ann, incident 7")
        #expect(await sends(control, notes) == 1)
        #expect(await sends(control, notes) == 1)
        control.set(share: -1, by: "Bob")
        #expect(control.setBy == "Ann, incident 7")
        control.set(share: 0.25, by: "Bob")
        _ = await sends(control, notes)
        #expect(
            notes.all.filter { $0.contains("set by") } == [
                "Retry: is off now, set by Ann, incident 7",
                "Retry: is on for 25.0 % of the calls now, set by Bob",
            ])
    }

    @Test("A share of the calls passes, and a call either passes each time or never")
    func share() async throws {
        let control = Switch(share: 0.25)
        let passed = Notes()
        let seen = Around { request, context, next in
            passed.add("\(context.id.number)")
            return try await next(request)
        }
        let client = Client(
            MockTransport { _ in .status(503) }, clock: clock,
            [
                .retry(attempts: 2, backoff: .constant(.zero), budget: nil),
                .switched(by: control, [seen]),
            ])
        for _ in 0..<400 { _ = try await client.get(anywhere).response() }
        let calls = Dictionary(grouping: passed.all) { $0 }
        #expect((60...140).contains(calls.count))
        #expect(calls.values.allSatisfy { $0.count == 2 })
    }

    @Test("Facts say how the switch is set, and a request passes over what is off")
    func facts() {
        let control = Switch(share: 0)
        let gate = Switched(by: control, [.hedge()])
        let request = Request(.get, anywhere)
        #expect(gate.facts(for: request)?.passedOver == "its switch is off")
        #expect(gate.facts(for: nil)?.passedOver == nil)
        control.set(share: 0.5, by: "Ann")
        #expect(gate.facts(for: request)?.passedOver == nil)
        #expect(gate.facts(for: nil)?.summary.contains("50.0 %") == true)
    }

    @Test("Law: whatever the acts, a call passes as the share says when it arrives")
    func law() async throws {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let control = Switch()
            let context = Context(randomSource: SeededRandomSource(seed: run))
            for _ in 0..<20 {
                let share = dice.one(of: [0, 0.3, 0.7, 1, .nan, -3, 7] as [Double])
                control.set(share: share, by: "Ann")
                let isOn = control.isOn(for: context, by: "gate")
                Law.holds((0...1).contains(control.share), run, "a share of \(share)")
                Law.holds(isOn == control.isOn(for: context, by: "gate"), run, "the same answer")
                if control.share == 0 || control.share == 1 {
                    Law.holds(isOn == (control.share == 1), run, "\(share)")
                }
            }
        }
    }

    @Test("What a person does to a circuit is logged by the next call")
    func breaker() async throws {
        let (breaker, notes) = (CircuitBreaker(), ReportedNotes())
        let client = Client(MockTransport { _ in .ok() }, clock: clock, [notes, breaker])
        let origin = Origin(scheme: "http", host: "a.example", port: 80)
        breaker.isolate(origin, by: "Ann")
        for _ in 0..<2 { _ = try? await client.get(anywhere).response() }
        breaker.close(origin, by: "Bob")
        for _ in 0..<2 { _ = try await client.get(anywhere).response() }
        #expect(
            notes.all == [
                "CircuitBreaker: the circuit for http://a.example was isolated by hand (Ann)",
                "CircuitBreaker: the circuit for http://a.example was closed by hand (Bob)",
            ])
    }
}

@Suite("Gates that a call leaves out")
struct CallWithoutTests {
    private func client(_ gates: any Gate...) -> Client {
        Client(MockTransport { _ in .status(503) }, Stack(gates))
    }

    private let retry = Retry(attempts: 3, backoff: .constant(.zero), budget: nil)

    @Test("By name or by type, for this call alone, also out of a group")
    func leaving() async throws {
        for stack in [[retry], [Group([retry])], [When({ _ in true }, then: [retry])]] as [Stack] {
            let client = Client(MockTransport { _ in .status(503) }, stack)
            func attempts(_ call: Call) async throws -> Int {
                try await call.response().attempts
            }
            #expect(try await attempts(client.get(anywhere).without("retry")) == 1)
            #expect(try await attempts(client.get(anywhere).without(Retry.self)) == 1)
            #expect(try await attempts(client.get(anywhere)) == 3)
        }
        let named = client(.group([retry], name: "house"))
        #expect(try await named.get(anywhere).without("house").response().attempts == 1)
    }

    @Test(
        "A gate that guards stays, and the call says why",
        arguments: [
            (URLPolicy(), "URLPolicy", "checks where requests go"),
            (HSTS(), "HSTS", "turns http into https"),
            (Redirect(), "Redirect", "follows redirects"),
            (Limits(), "Limits", "limits"),
            (RateLimit(perSecond: 1), "RateLimit", "limits the rate of requests"),
            (ConcurrencyLimit(), "ConcurrencyLimit", "limits how many requests are under way"),
            (
                BasicAuthentication(user: "u", password: "p", origins: ["http://a.example"]),
                "BasicAuthentication", "sets credentials"
            ),
            (Cookies(), "Cookies", "sets credentials"),
        ] as [(any Gate, String, String)])
    func duty(gate: any Gate, name: String, reason: String) async throws {
        for call in [
            client(gate).get(anywhere).without(name),
            client(.group([gate], name: "outer")).get(anywhere).without("outer"),
        ] {
            let error = await #expect(throws: ClientError.self) { try await call.response() }
            #expect(error?.code == .configuration)
            #expect(error?.message.hasPrefix("\(name) cannot be left out of a call: it ") == true)
            #expect(error?.message.contains(reason) == true)
        }
    }

    @Test("A name that no gate has fails the call, which names the gates that there are")
    func unknown() async throws {
        let call = client(Deadline(), Group { retry }).get(anywhere)
        let error = await #expect(throws: ClientError.self) {
            try await call.without("retyr").response()
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("no gate \"retyr\"") == true)
        #expect(error?.message.hasSuffix("Deadline, Group, Retry") == true)
        await expectError(.configuration) { try await call.without(Hedge.self).response() }
    }

    @Test("The explanation of a call lacks what the call leaves out")
    func explained() {
        let stack: Stack = [.deadline(), .retry(attempts: 3)]
        let request = Client(MockTransport([]), stack).get(anywhere).without("retry").request
        #expect(stack.completed(for: request.options).gates.map(\.gateName) == ["Deadline"])
    }
}
