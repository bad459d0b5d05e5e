// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeInspection
import TurnpikeTesting
import TurnpikeTraffic

@Suite("Explanations")
struct ExplainTests {
    private let get: Request = Request(.get, anywhere)
    private let mock = MockTransport([])

    /// A gate of a user's that states nothing.
    private struct Mystery: Interceptor {
        func intercept(
            _ request: Request, context: Context, next: Next
        ) async throws -> Response {
            Issue.record("a gate ran")
            return try await next(request)
        }
    }

    private struct Stamp: SynchronousRequestAdapter {
        func adapt(_ request: inout Request, context: Context) { Issue.record("a gate ran") }
    }

    private struct Idle: Gate {}

    @Test("Each gate is explained in its place, and nothing is sent")
    func order() {
        let explanation = Stack.standard.explain(get, on: mock)
        #expect(explanation.gates.map(\.place) == ["1", "2", "3", "4", "5", "6", "7"])
        #expect(explanation.gates.map(\.name).first == "Deadline")
        #expect(explanation.gates.map(\.runs).prefix(4) == [.perCall, .perCall, .perCall, .perHop])
        #expect(explanation.gates.last?.runs == .perAttemptOfHop)
        #expect(explanation.transport == "MockTransport")
        #expect(explanation.fault == nil)
        #expect(mock.sentCount == 0)
    }

    @Test("The standard stack is bounded by its deadline, the send limit and its limits")
    func standard() {
        let worst = Stack.standard.explain(get, on: mock).worst
        #expect(worst.sends.limit == .atMost(22))
        #expect(worst.sends.places == ["3", "4"])
        #expect(worst.sends.framework == "12 sends, not counting redirects")
        #expect(worst.time.limit == .atMost(.seconds(30)))
        #expect(worst.time.places == ["1"])
        #expect(worst.time.framework == nil)
        #expect(worst.disk.limit == .atMost(0))
        // 100 MiB collected, 1 MiB kept by the retry, 4 KiB kept by the validation.
        #expect(worst.memory.limit == .atMost(104_857_600 + 1_048_576 + 4096))
    }

    @Test("A gate without facts is unknown, and so is what it could do")
    func unknown() {
        let explanation = Stack([Retry(attempts: 2), Mystery()]).explain(get, on: mock)
        #expect(explanation.gates[1].status == .unknown)
        #expect(explanation.worst.sends.limit == .atMost(12))
        #expect(explanation.worst.waiting.limit == .unknown)
        #expect(explanation.worst.waiting.places == ["2"])
        #expect(explanation.worst.memory.limit == .unknown)
        let outside = Stack([Deadline(.seconds(9)), Mystery()]).explain(get, on: mock)
        #expect(outside.worst.time.limit == .atMost(.seconds(9)))
        #expect(outside.worst.waiting.limit == .atMost(.seconds(9)))
    }

    @Test("The role of a gate without facts tells what it cannot do")
    func roles() {
        let worst = Stack([Stamp()]).explain(get, on: mock).worst
        // Once more if a kept-alive connection ends.
        #expect(worst.sends.limit == .atMost(2))
        #expect(worst.waiting.limit == .atMost(.zero))
        #expect(worst.memory.limit == .unknown)
    }

    @Test("Where no retry decides, a repeatable request may be sent once more, and it is said why")
    func resend() {
        let post = Request(.post, anywhere)
        func sends(_ request: Request, _ gates: any Gate...) -> StackBound<Int64> {
            Stack(gates).explain(request, on: mock).worst.sends
        }
        #expect(sends(get).limit == .atMost(2))
        #expect(sends(get).framework == "one more if a kept-alive connection ends")
        #expect(sends(post).limit == .atMost(1))
        #expect(sends(post, IdempotencyKey()).limit == .atMost(2))
        #expect(sends(get, Retry(attempts: 1)).limit == .atMost(1))
        #expect(sends(get, Retry(attempts: 3)).limit == .atMost(3))
        #expect(sends(get, Retry(attempts: 3, policy: .never)).limit == .atMost(4))
        #expect(sends(get, Retry(attempts: 12, policy: .never)).limit == .atMost(12))
    }

    @Test("What nothing bounds is unbounded, and no gate is blamed")
    func unbounded() {
        let worst = Stack([Retry(attempts: 3)]).explain(get, on: mock).worst
        #expect(worst.time.limit == .unbounded)
        #expect(worst.time.places == [])
        #expect(worst.sends.limit == .atMost(3))
    }

    @Test("Two gates with the same limit: the inner one could be left out")
    func twins() {
        let worst = Stack([Deadline(.seconds(3)), Deadline(.seconds(3))])
            .explain(get, on: mock).worst
        #expect(worst.time.limit == .atMost(.seconds(3)))
        #expect(worst.time.places == ["1"])
    }

    @Test("Inside of a replay, a gate runs again for each replay, and not for each attempt")
    func replays() {
        let user = DigestAuthentication(user: "u", password: "p")
        func runs(_ gates: any Gate...) -> GateRuns? {
            Stack(gates + [user, Stamp()]).explain(get, on: mock).gates.last?.runs
        }
        #expect(runs() == .perCallAndReplay)
        #expect(runs(Redirect()) == .perHopAndReplay)
        #expect(runs(Retry()) == .perAttemptAndReplay)
        #expect(runs(Redirect(), Retry()) == .perAttemptOfHopAndReplay)
        let explanation = Stack([user, Stamp()]).explain(get, on: mock)
        #expect(explanation.gates[0].runs == .perCall)
        let words = "once per call, and for each replay"
        #expect(explanation.json["gates"]?[1]?["runs"] == JSONValue.string(words))
        for form in [explanation.description, explanation.mermaid, explanation.svg] {
            #expect(form.contains(words))
        }
    }

    @Test("A gate that passes the request over says why, and adds nothing")
    func passedOver() {
        let post = Request(.post, anywhere)
        let explanation = Stack([Hedge(after: .seconds(1), attempts: 3)]).explain(post, on: mock)
        guard case .passedOver(let reason) = explanation.gates[0].status else {
            Issue.record("\(explanation.gates[0].status)")
            return
        }
        #expect(reason.contains("POST"))
        #expect(explanation.worst.sends.limit == .atMost(1))
        // A 303 makes a GET of it.
        let behind = Stack([Redirect(limit: 1), Hedge(after: .seconds(1), attempts: 3)])
            .explain(post, on: mock)
        #expect(behind.gates[1].mayChange)
        #expect(behind.worst.sends.limit == .atMost(7))
    }

    @Test("A field that a gate further out sets at times keeps no gate from applying at others")
    func unsure() {
        let tokens = BearerTokens(
            provider: SlowTokens(nil), policy: RefreshPolicy(timeLimit: .seconds(7)))
        let stack = Stack([
            DigestAuthentication(user: "u", password: "p"), BearerAuthentication(tokens),
        ])
        let explanation = stack.explain(get, on: mock)
        guard case .passedOver = explanation.gates[1].status else {
            Issue.record("\(explanation.gates[1].status)")
            return
        }
        #expect(explanation.gates[1].mayChange)
        // Two waits in each of three passes.
        #expect(explanation.worst.waiting.limit == .atMost(.seconds(42)))
    }

    @Test("The gates of a group that does not apply are skipped with it")
    func groups() {
        let other = Origin(scheme: "https", host: "b.example", port: 443)
        let stack = Stack([Only(for: [other], [.retry(attempts: 4)]), Group([.deadline()])])
        let explanation = stack.explain(get, on: mock)
        guard case .skipped = explanation.gate(at: "1.1")?.status else {
            Issue.record("not skipped")
            return
        }
        #expect(explanation.worst.sends.limit == .atMost(2))
        #expect(explanation.gate(at: "2.1")?.name == "Deadline")
        #expect(explanation.worst.time.places == ["2.1"])
        let redirected = Stack([Redirect(limit: 1)] + stack.gates).explain(get, on: mock)
        #expect(redirected.worst.sends.limit == .atMost(9))
    }

    @Test("The options of the request count, with the gates that they bring")
    func options() {
        var request = get
        request.options.isStreaming = true
        let streaming = Stack([Deadline(.seconds(3))]).explain(request, on: mock)
        #expect(streaming.worst.time.limit == .atMost(.seconds(3)))
        #expect(streaming.worst.memory.limit == .atMost(0))
        let client = Client(mock, [])
        let call = client.request(get).deadline(.seconds(2))
        let completed = Stack([]).explain(call.request, on: mock)
        #expect(completed.gates.map(\.name) == ["Deadline"])
        #expect(completed.worst.time.limit == .atMost(.seconds(2)))
    }

    @Test("A stack or a request that cannot be sent says so")
    func faults() {
        #expect(Stack([Idle()]).explain(get, on: mock).fault?.contains("Idle") == true)
        #expect(Stack([]).explain(Request(.get, "http://a b/"), on: mock).fault != nil)
    }

    @Test("No form shows a secret")
    func secrets() {
        let stack: Stack = [
            SetHeaders(["X-API-Key": "tops3cret", "X-Team": "blue"]),
            BasicAuthentication(user: "u", password: "tops3cret"),
        ]
        let request = Request(.get, "http://u:tops3cret@a.example/x?api_key=tops3cret")
        let explanation = stack.explain(request, on: mock)
        let forms = [
            explanation.description, "\(explanation.json)", explanation.mermaid, explanation.svg,
        ]
        for form in forms {
            #expect(!form.contains("tops3cret"))
            #expect(form.contains("X-Team") && form.contains("blue"))
            #expect(form.contains("X-API-Key") && form.contains("REDACTED"))
        }
    }

    @Test("Facts without measure do not overflow")
    func extremes() {
        let stack = Stack([
            Retry(attempts: .max, maxRetryAfter: .seconds(Int64.max)), Redirect(limit: .max),
            Deadline(.seconds(Int64.max)), Hedge(after: .seconds(Int64.max), attempts: .max),
        ])
        let worst = stack.explain(get, on: mock).worst
        #expect(worst.time.limit == .unbounded)
        #expect(Stack([Deadline(.seconds(-3))]).explain(get, on: mock).worst.time.value == .zero)
    }
}
