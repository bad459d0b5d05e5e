// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("AdmissionControl")
struct AdmissionControlTests {
    private let clock = ManualClock()
    private let origin = Origin(scheme: "http", host: "a.example", port: 80)

    private func client(
        _ transport: MockTransport, seed: UInt64 = 1, _ stack: Stack
    ) -> Client {
        Client(
            transport: transport, stack: stack, serializers: SerializerTable(), timeSource: clock,
            randomSource: SeededRandomSource(seed: seed))
    }

    /// Makes calls, one a second.
    private func call(_ client: Client, times: Int) async {
        for _ in 0..<times {
            clock.advance(by: .seconds(1))
            _ = await code(of: client.get(anywhere))
        }
    }

    private func share(_ gate: AdmissionControl) -> Double { gate.share(of: origin, at: clock.now) }

    @Test("It refuses calls after three rejections, without sending them, and says when to return")
    func refuses() async throws {
        let transport = MockTransport { _ in .status(503) }
        let gate = AdmissionControl()
        let client = client(transport, [.retry(backoff: .constant(.zero)), gate])
        await call(client, times: 1)
        #expect(transport.sentCount == 3, "the retry repeats a 503")
        #expect(share(gate) == 1, "attempts that end together count like one")
        await call(client, times: 2)
        #expect(abs(share(gate) - 0.03) < 1e-9)
        let sent = transport.sentCount
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .overloaded)
        #expect(error?.message.contains("http://a.example rejects most calls; 3 %") == true)
        #expect(error?.transfer?.isUnsent == true)
        let wait = try #require(error?.retryAfter)
        #expect(wait > .seconds(14) && wait <= .seconds(15))
        #expect(transport.sentCount == sent, "a retry does not repeat a refusal")
        #expect(await code(of: client.get("http://b.example/")) == nil)
    }

    @Test("A server that works again gets all calls in bounded time, whatever the share was")
    func recovers() async throws {
        let isWell = Mutex(false)
        let transport = MockTransport { _ in isWell.withLock { $0 } ? .ok() : .status(503) }
        let gate = AdmissionControl()
        let client = client(transport, [gate])
        await call(client, times: 200)
        #expect(share(gate) < 1)
        #expect(transport.sentCount > 200 / 16, "it is tried again and again")
        #expect(transport.sentCount < 100)
        isWell.withLock { $0 = true }
        await call(client, times: 15)
        #expect(share(gate) == 1)
        let before = transport.sentCount
        await call(client, times: 20)
        #expect(transport.sentCount == before + 20)
    }

    @Test("A cancellation and a deadline of the caller say nothing; an attempt timeout does")
    func cancellation() async throws {
        for (limit, expected) in [
            (nil as (any Gate)?, 1.0), (Deadline(.seconds(1)), 1),
            (AttemptTimeout(.seconds(1)), 0.03),
        ] {
            let gate = AdmissionControl()
            let stack: Stack =
                limit is Deadline
                ? [Deadline(.seconds(1)), gate]
                : limit is AttemptTimeout ? [gate, AttemptTimeout(.seconds(1))] : [gate]
            let transport = MockTransport { _ in .ok().delayed(by: .seconds(60)) }
            let client = client(transport, stack)
            for _ in 0..<3 {
                let call = Task { await code(of: client.get(anywhere)) }
                try await clock.waitForTimers(limit == nil ? 1 : 2)
                if limit == nil { call.cancel() }
                clock.advance(by: .seconds(1))
                _ = await call.value
            }
            #expect(abs(share(gate) - expected) < 1e-9)
            await client.shutdown()
        }
    }

    @Test("A body that fails counts if the rule says so; one that is dropped does not")
    func bodies() async throws {
        let cut = MockResponse.stream([Data("x".utf8)], thenThrow: ClientError(.incomplete, "cut"))
        for (isRead, countsErrors, expected) in [
            (true, true, 0.03), (true, false, 1), (false, true, 1),
        ] {
            let gate = AdmissionControl { outcome in
                if countsErrors { return outcome.error == nil ? .success : .failure }
                return AdmissionControl.standardVerdict(outcome)
            }
            let client = client(MockTransport { _ in cut }, [gate])
            for _ in 0..<3 {
                clock.advance(by: .seconds(1))
                if isRead {
                    _ = await code(of: client.get(anywhere))
                } else {
                    _ = try await client.get(anywhere).response()
                }
            }
            #expect(abs(share(gate) - expected) < 1e-9)
        }
    }

    @Test(
        "The default rule knows rejections from answers and other errors",
        arguments: [
            (.success(429), .failure), (.success(503), .failure), (.success(504), .failure),
            (.success(500), .success), (.success(404), .success),
            (.failure(.attemptTimeout), .failure),
            (.failure(.idleTimeout), .failure), (.failure(.connectTimeout), .failure),
            (.failure(.connection), .ignored), (.failure(.overloaded), .ignored),
            (.failure(.circuitOpen), .ignored),
        ] as [(Result<HTTPStatus, Fault>, CircuitVerdict)])
    func verdicts(result: Result<HTTPStatus, Fault>, expected: CircuitVerdict) {
        let request = Request(.get, anywhere)
        let outcome = Outcome(
            request: request,
            result: result.map { Response(to: request, status: $0) }
                .mapError { ClientError($0.code, "") })
        #expect(AdmissionControl.standardVerdict(outcome) == expected)
    }

    struct Fault: Error {
        let code: ClientError.Code
        static let attemptTimeout = Fault(code: .attemptTimeout)
        static let idleTimeout = Fault(code: .idleTimeout)
        static let connectTimeout = Fault(code: .connectTimeout)
        static let connection = Fault(code: .connection)
        static let overloaded = Fault(code: .overloaded)
        static let circuitOpen = Fault(code: .circuitOpen)
    }

    @Test("Critical calls are sent while sheddable ones are refused")
    func criticality() async throws {
        let isWell = Mutex(true)
        let transport = MockTransport { _ in isWell.withLock { $0 } ? .ok() : .status(503) }
        let gate = AdmissionControl()
        let client = client(transport, [gate])
        func send(_ criticality: Criticality) async -> Bool {
            await code(of: client.get(anywhere).criticality(criticality)) != .overloaded
        }
        // Half of the calls are critical.
        for number in 0..<200 {
            #expect(await send(number % 2 == 0 ? .critical : .sheddable))
        }
        isWell.withLock { $0 = false }
        await call(client, times: 3)
        isWell.withLock { $0 = true }
        clock.advance(by: .seconds(8))
        let part = share(gate)
        #expect(part > 0.3 && part < 0.5)
        var sent = (critical: 0, sheddable: 0)
        for _ in 0..<100 {
            if await send(.critical) { sent.critical += 1 }
            if await send(.sheddable) { sent.sheddable += 1 }
        }
        #expect(sent.critical > 60 && sent.sheddable == 0)
    }

    @Test("A gate in several stacks is one shared state, and keeps 1024 origins")
    func shared() async throws {
        let gate = AdmissionControl()
        let transport = MockTransport { _ in .status(503) }
        for _ in 0..<3 { await call(client(transport, [gate]), times: 1) }
        #expect(abs(share(gate) - 0.03) < 1e-9)
        let other = client(transport, [gate])
        for number in 0..<3000 {
            _ = try await other.get("http://h\(number).example/").response()
        }
        #expect(gate.originCount == 1024)
        #expect(share(gate) == 1)
    }

    @Test("The meter gets the refused share and the refusals; a forgotten origin is removed")
    func figures() async throws {
        let store = MetricsStore()
        func lines(_ prefix: String) -> [String] {
            store.prometheusText.split(separator: "\n").map(String.init)
                .filter { $0.hasPrefix(prefix) }
        }
        let gate = AdmissionControl(meter: store)
        let client = client(
            MockTransport { $0.origin?.host == "a.example" ? .status(503) : .ok() }, [gate])
        await call(client, times: 2)
        #expect(lines("turnpike").isEmpty, "a share that was never cut has no series")
        await call(client, times: 1)
        let labels = #"{server_address="a.example",server_port="80"}"#
        #expect(
            lines("turnpike_admission_control_refused_share")
                == ["turnpike_admission_control_refused_share\(labels) 0.97"])
        for _ in 0..<3 { _ = await code(of: client.get(anywhere)) }
        #expect(
            lines("turnpike_admission_control_refusals_total")
                == ["turnpike_admission_control_refusals_total\(labels) 3"])
        for number in 0..<1024 { _ = await code(of: client.get("http://h\(number).example/")) }
        #expect(
            lines("turnpike_admission_control_refused_share")
                == ["turnpike_admission_control_refused_share\(labels) 0"])
        #expect(lines("# HELP turnpike").allSatisfy { !$0.contains("does not describe") })
    }

    @Test("Odd settings in code are moved into bounds")
    func bounds() {
        func rules(_ threshold: Double, _ recovery: Duration, _ slow: Double?)
            -> AdmissionShare.Rules
        {
            AdmissionShare.Rules(threshold: threshold, recovery: recovery, slowness: slow)
        }
        #expect(rules(.nan, .seconds(-1), .nan) == rules(0.7, .milliseconds(1), 1))
        #expect(rules(9, .seconds(1 << 40), -3) == rules(0.99, .seconds(86_400), 1))
        #expect(rules(-1, .seconds(1), nil).threshold == 0)
    }
}
