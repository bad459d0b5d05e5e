// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeInspection
import TurnpikeSupport
import TurnpikeTesting

struct TenantName: SynchronousRequestAdapter {
    let tenant: String
    func adapt(_ request: inout Request, context: Context) {
        request.headers["X-Tenant"] = tenant
    }
}

struct RetryLocked: RequestRetrier {
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
        outcome.status == 423 && outcome.attempts < 3 ? .retry(after: .seconds(1)) : .stop
    }
}

struct OtherHost: Interceptor {
    let host: String

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        do {
            return try await next(request)
        } catch ClientError.Code.dns where request.body.isReplayable {
            var other = request
            var components = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
            components?.host = host
            other.url = components?.url ?? request.url
            return try await next.attempt(other)
        }
    }
}

struct Budget: Interceptor {
    let limit: Duration

    // In the place of a `Deadline`, for calls with a limit of their own.
    var handledOptions: [any RequestOptionKey.Type] { [DeadlineOption.self] }

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        let options = request.options
        if options.isOneTime { return try await next(request) }
        let limit = options[DeadlineOption.self] ?? limit
        return try await next(request, within: limit, upToHead: options.isStreaming) { limit in
            ClientError(.deadlineExceeded, "the budget of \(limit) is spent")
        }
    }

    func facts(for request: Request?) -> GateFacts? {
        let limit = request?.options[DeadlineOption.self] ?? limit
        return GateFacts("ends the call after \(limit)", .limitsTime(limit, .body))
    }
}

struct Region: PhasedInterceptor, PromptlyCancellable {
    let name: String

    func after(_ response: Response, to request: Request, context: Context) throws -> Bool {
        response.headers["X-Region"] == name
    }

    func resume(
        after result: Result<Response, any Error>, to request: Request, context: Context, next: Next
    ) async throws -> Response {
        let response = try result.get()
        await response.discard(in: context)
        return try await next.attempt(request)
    }
}

enum TenantKey: ContextKey {
    static let defaultValue: String? = nil
    static let scope = ContextScope.call
}

struct CountBytes: Interceptor {
    let onCount: @Sendable (Int64) -> Void

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        let response = try await next(request)
        response.body.onEnd { [onCount] end in onCount(end.bytes) }
        return response
    }
}

struct Signature: RequestAdapter {
    let key: Data

    func adapt(_ request: inout Request, context: Context) async throws {
        let hash = try await SHA256.digest(of: request.body).hexadecimal
        let text = "\(request.method)\n\(request.targetURI.originForm)\n\(hash)"
        let code = HMACSHA256.code(for: Data(text.utf8), key: key)
        request.headers["X-Content-SHA256"] = hash
        request.headers["X-Signature"] = code.base64EncodedString()
    }
}

extension Signature {
    func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "signs target and content", .setsFields(["X-Content-SHA256", "X-Signature"], .plain),
            order: [
                GateOrder(
                    .inside, .redirect, because: "A hop would have the signature of another target."
                )
            ])
    }
}

extension OtherHost {
    func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "sends to \(host) if the first host has no address", .replays(times: 1),
            passedOver: request?.body.isReplayable == false ? "the body cannot be sent again" : nil)
    }
}

extension Gate where Self == TenantName {
    /// Names the tenant in every request.
    static func tenant(_ name: String) -> Self { TenantName(tenant: name) }
}

@Suite("Writing a gate")
struct WritingAGateExamples {
    @Test("An adapter has a factory")
    func adapter() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport, stack: [.tenant("blue")])
        try await client.get("http://a.example/").empty()
        #expect(transport.sent.first?.request.headers["X-Tenant"] == "blue")
    }

    @Test("A gate that states where it must stand is judged")
    func facts() {
        let key = Data("k".utf8)
        let transport = MockTransport { _ in .ok() }
        let stack: Stack = [.deadline(), Signature(key: key), .redirect(), .limits()]
        let finding = stack.lint(for: transport)[0]
        #expect(finding.rule == "stated-order")
        #expect(finding.mendedOrder == ["Deadline", "Redirect", "Signature", "Limits"])
        let other = OtherHost(host: "spare.example").facts(for: Request(.get, "http://a.test/"))
        #expect(other?.passedOver == nil)
    }

    @Test("A retrier decides, and the framework waits and sends")
    func retrier() async throws {
        let transport = MockTransport([.any(.status(423), .status(423), .ok(text: "open"))])
        let clock = ManualClock()
        let client = Client(transport: transport, stack: Stack { RetryLocked() }, timeSource: clock)
        async let text = client.get("http://a.example/").string()
        for _ in 0..<2 {
            try await clock.waitForTimers(1)
            clock.advance(by: .seconds(1))
        }
        #expect(try await text == "open")
    }

    @Test("An interceptor may send elsewhere, and a body is counted to its end")
    func interceptors() async throws {
        let transport = MockTransport { request in
            guard request.url.host() == "spare.example" else {
                throw ClientError(.dns, "no such host", transfer: TransferState(.connecting))
            }
            return .ok(text: "12345")
        }
        let counted = Mutex<[Int64]>([])
        let client = Client(transport: transport) {
            CountBytes { count in counted.withLock { $0.append(count) } }
            OtherHost(host: "spare.example")
        }
        let response = try await client.get("http://a.example/x").response()
        #expect(response.attempts == 2)
        _ = try await response.body.collect(upTo: 10)
        #expect(counted.withLock { $0 } == [5])
    }

    @Test("A signature covers the content, which is sent as well")
    func signature() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport, stack: Stack { Signature(key: Data("k".utf8)) })
        try await client.post("http://a.example#part", body: .text("abc")).empty()
        let sent = try #require(transport.sent.first)
        #expect(sent.text == "abc")
        #expect(
            sent.request.headers["X-Content-SHA256"]
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            sent.request.headers["X-Signature"]
                == "YaG/QfxaZJwlm+qWdaWojYJmd6B+gx4YUlKeb++XWSQ=")
    }

    @Test("A limit ends a call and its body in its time, and honours that of the call itself")
    func limit() async throws {
        try await Simulation(seed: 1).run { simulation in
            let chunks = Array(repeating: Data("x".utf8), count: 100)
            let transport = MockTransport { request in
                request.url.path() == "/silent"
                    ? .ok().delayed(by: .seconds(600)) : .stream(chunks, every: .seconds(1))
            }
            let client = Client(
                transport: transport, stack: [Budget(limit: .seconds(10))],
                timeSource: simulation.clock, randomSource: simulation.random)
            func time(_ call: Call) async -> Duration? {
                let start = simulation.elapsed
                do {
                    _ = try await call.data()
                } catch ClientError.Code.deadlineExceeded {
                    return simulation.elapsed - start
                } catch {}
                return nil
            }
            for path in ["silent", "drip"] {
                let call = client.get("http://a.example/\(path)")
                #expect(await time(call) == .seconds(10))
                #expect(await time(call.deadline(.seconds(3))) == .seconds(3))
                #expect(await time(call.deadline(.seconds(30))) == .seconds(30))
            }
        }
        let wrong: Stack = [.retry(), Budget(limit: .seconds(30))]
        let rules = wrong.lint(for: MockTransport { _ in .ok() }).map(\.rule)
        #expect(rules.contains("deadline-inside-retry"))
    }

    @Test("A gate of two phases passes on what it may, and runs the rest again otherwise")
    func phases() async throws {
        let transport = MockTransport([
            .any(.ok(headers: ["X-Region": "far"]), .ok(headers: ["X-Region": "near"]))
        ])
        let client = Client(transport: transport, stack: Stack { Region(name: "near") })
        #expect(try await client.get("http://a.example/").response().attempts == 2)
        #expect(try await client.get("http://a.example/").response().attempts == 1)
    }

    @Test("A value of the call is visible to inner gates")
    func values() {
        let context = Context(timeSource: ManualClock())
        context[TenantKey.self] = "blue"
        #expect(context.child()[TenantKey.self] == "blue")
    }
}
