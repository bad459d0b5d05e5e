// SPDX-License-Identifier: Apache-2.0

import Testing
import Turnpike
import TurnpikeAuthentication
import TurnpikeCache
import TurnpikeCore
import TurnpikeEndpoints
import TurnpikeInspection
import TurnpikeTesting
import TurnpikeTraffic

/// Stacks that are right by construction, and those that are known to be.
@Suite struct RightStackTests {
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `a stack that was made right has no finding`(seed: UInt64) {
        var maker = RightStack(seed: seed)
        let stack = maker.make()
        #expect(stack.lint(for: MockTransport([])).isEmpty, "\(stack)")
    }

    @Test func `such stacks have all kinds of gates, and of many lengths`() {
        let stacks = (0..<200 as Range<UInt64>).map { seed in
            var maker = RightStack(seed: seed)
            return maker.make()
        }
        let kinds = Set(stacks.flatMap { $0.gates.flatMap { $0.facts(for: nil)?.kinds ?? [] } })
        #expect(kinds == Set(GateKind.allCases))
        #expect(Set(stacks.map(\.gates.count)).count > 10)
    }

    @Test func `the standard stack has no finding but that of URLSession on Linux`() throws {
        for capabilities in [TransportCapabilities(), TransportCapabilities(rawValue: .max)] {
            let transport = MockTransport(capabilities: capabilities, [])
            #expect(Stack.standard.lint(for: transport) == [])
        }
        let findings = Stack.standard.lint(for: URLSessionTransport())
        #if canImport(FoundationNetworking)
        #expect(findings.map(\.rule) == ["server-ends-process"])
        #expect(findings.first?.severity == .warning)
        #expect(
            findings.first?.remedy.contains("`Client(transport: try CurlTransport(), …)`") == true)
        #else
        #expect(findings == [])
        #endif
    }

    @Test func `hedge, admission, breaker, limits and endpoints have one order`() {
        let right: [any Gate] = [
            Hedge(), AdmissionControl(), CircuitBreaker(), RateLimit(perSecond: 50),
            ConcurrencyLimit(),
            Endpoints(for: "users.internal", from: .list(["10.0.0.7:8080"])),
        ]
        func findings(_ gates: [any Gate]) -> [LintFinding] {
            var stack: [any Gate] = [Deadline(), Validate(), Redirect(), Retry()]
            stack += gates.dropLast()
            stack += [AttemptTimeout(.seconds(2)), IdleTimeout(), Limits()] as [any Gate]
            stack += gates.suffix(1)
            return Stack(stack).lint(for: MockTransport([]))
        }
        #expect(findings(right) == [])
        // The limits may stand anywhere among the first gates; the others have one place.
        let fixed = [0, 1, 2, 5]
        for first in fixed {
            for second in fixed where second > first {
                var wrong = right
                wrong.swapAt(first, second)
                #expect(!findings(wrong).isEmpty, "\(wrong.map(\.gateName))")
            }
        }
    }
}

/// Makes stacks in the right order, with some of the gates and with random figures.
struct RightStack {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    private mutating func chance(_ share: Double) -> Bool {
        Double.random(in: 0..<1, using: &generator) < share
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &generator)
    }

    private mutating func some(_ gates: (any Gate)...) -> [any Gate] {
        gates.filter { _ in chance(0.4) }
    }

    mutating func make() -> Stack {
        let deadline = number(2...60)
        let attempt = Double(deadline) * Double(number(1...9)) / 10
        var gates = some(Log(to: MemoryLogSink()), Metrics(MetricsStore()))
        gates += some(Fallback(status: .ok))
        gates.append(Deadline(.seconds(deadline)))
        gates += some(RequestID(), UserAgent("a/1"), IdempotencyKey(), Validate())
        let beforeRedirect = gates.count
        gates += some(Redirect(limit: number(1...20)))
        gates += some(HSTS(), Cookies())
        gates += some(SetHeaders(["X-Api-Key": "k"], origins: ["https://a.test"]), UserCredential())
        gates += some(Coalesce())
        gates += some(Cache())
        gates += resilience(attempt, hasLog: gates.contains { $0 is Log })
        gates += some(CompressBodies(), URLPolicy(denyPrivate: .onRedirect), IdleTimeout())
        gates.append(Limits(.init(body: chance(0.5) ? 1 << 20 : nil)))
        return Stack(grouped(gates, from: beforeRedirect))
    }

    private mutating func resilience(_ attempt: Double, hasLog: Bool) -> [any Gate] {
        var gates: [any Gate] = []
        var attempts = 1
        if chance(0.7) {
            attempts = number(2...6)
            gates.append(Retry(attempts: attempts, maxRetryAfter: .seconds(number(0...100))))
            gates += some(TraceContext())
            if hasLog { gates += some(Log(to: MemoryLogSink(), level: .error)) }
        }
        if chance(0.4), 12 / attempts >= 2 {
            let delay = HedgeDelay.fixed(.seconds(attempt / 2))
            gates.append(
                Hedge(after: chance(0.5) ? delay : .percentile(), attempts: 12 / attempts))
        }
        if chance(0.3) { gates.append(AdmissionControl()) }
        if chance(0.4) { gates.append(CircuitBreaker()) }
        if chance(0.4) { gates.append(RateLimit(perSecond: Double(number(1...100)))) }
        if chance(0.4) { gates.append(BearerAuthentication(BearerTokens(BearerToken("t")))) }
        if chance(0.4) { gates.append(ConcurrencyLimit(total: number(1...100))) }
        gates.append(AttemptTimeout(.seconds(attempt)))
        // Without a retry, an endpoint that fails is seen by callers.
        if attempts > 1, chance(0.4) {
            gates.append(Endpoints(for: "a.test", from: .list(["10.0.0.7:80", "10.0.0.8:80"])))
        }
        return gates
    }

    // Puts neighbours into a group, now and then one that lets only some requests in.
    private mutating func grouped(_ gates: [any Gate], from start: Int) -> [any Gate] {
        guard chance(0.5), start < gates.count else { return gates }
        let first = number(start...(gates.count - 1))
        let last = number(first...(gates.count - 1))
        let inner = Stack(Array(gates[first...last]))
        // Limits, time limits and credentials must hold for all requests.
        let group: any Gate = Group(inner)
        return gates[..<first] + [group] + gates[(last + 1)...]
    }
}

/// Sets the credential of the user for whom a task works.
private struct UserCredential: SynchronousRequestAdapter {
    func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "names the user", .setsFields(["X-User"], .secret(isBound: true, variesByCall: true)))
    }

    func adapt(_ request: inout Request, context: Context) {}
}
