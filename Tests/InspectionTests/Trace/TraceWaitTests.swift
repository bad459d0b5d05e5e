// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeInspection

@Suite("Waits in a trace")
struct TraceWaitTests {
    private let clock = ManualClock()

    private func trace(_ gates: any Gate...) async throws -> Trace? {
        let client = Client(MockTransport { _ in .ok() }, clock: clock, Stack(gates))
        let call = client.get(anywhere).traced()
        _ = try? await call.response()
        return call.trace
    }

    @Test("A gate names what it waits for, and a wait within a wait is a part of it")
    func nested() async throws {
        let trace = try await trace(
            Around { [clock] request, context, next in
                await context.report(waitingFor: "look in the cache") { context in
                    clock.advance(by: .milliseconds(2))
                    await context.report(waitingFor: "disk") { _ in
                        clock.advance(by: .milliseconds(3))
                    }
                }
                return try await next(request)
            })
        #expect(
            trace?.outline == [
                "GET /x 0.0 +5.0 200", "  Around 0.0 +5.0 200",
                "    look in the cache 0.0 +5.0 ok", "    GET /x 5.0 +0.0 200",
                "      head 5.0 +0.0 ok", "      body 5.0 +0.0 200",
            ])
    }

    @Test("A wait that throws has failed")
    func failed() async throws {
        let trace = try await trace(
            Around { _, context, _ in
                try await context.report(waitingFor: "token") { _ in
                    throw ClientError(.configuration, "x")
                }
            })
        #expect(
            trace?.outline == [
                "GET /x 0.0 +0.0 configuration", "  Around 0.0 +0.0 configuration",
                "    token 0.0 +0.0 configuration",
            ])
    }

    @Test("Without a trace, a wait only runs, and its name is not asked for")
    func off() async throws {
        func name() -> String {
            Issue.record("asked for")
            return ""
        }
        let context = Context()
        let same = await context.report(waitingFor: name()) { $0 === context }
        #expect(same)
    }

    @Test("What a gate exchanges while the call waits for it is part of the wait, and ends with it")
    func sideCall() async throws {
        let trace = try await trace(
            Around { [clock] request, context, next in
                try await context.report(waitingFor: "refresh") { context in
                    let side = context.sideCall()
                    clock.advance(by: .milliseconds(4))
                    // Its body is never read.
                    let answer = try await next(
                        Request(.post, "http://t.example/token"), context: side)
                    clock.advance(by: .milliseconds(1))
                    withExtendedLifetime(answer) {}
                }
                // Of what nobody waits for, nothing is told.
                let apart = context.sideCall()
                _ = try await next(Request(.post, "http://t.example/apart"), context: apart)
                return try await next(request)
            })
        #expect(
            trace?.spans.filter { $0.kind != .phase && $0.kind != .body }.map(\.name) == [
                "GET /x", "Around", "refresh", "POST /token", "GET /x",
            ])
        #expect(trace?.spans[2].duration == .milliseconds(5))
    }

    @Test("An exchange that outlasts the wait is shown as long as the call waited")
    func outlasted() async throws {
        let transport = MockTransport { request in
            request.url.path == "/token" ? .stream([Data("a".utf8)]) : .ok()
        }
        let held = Mutex<Response?>(nil)
        let client = Client(
            transport, clock: clock,
            Around { [clock] request, context, next in
                try await context.report(waitingFor: "refresh") { context in
                    let side = context.sideCall()
                    let answer = try await next(
                        Request(.post, "http://t.example/token"), context: side)
                    held.withLock { $0 = answer }
                    clock.advance(by: .milliseconds(5))
                }
                clock.advance(by: .milliseconds(7))
                return try await next(request)
            })
        let call = client.get(anywhere).traced()
        _ = try await call.response()
        let trace = try #require(call.trace)
        let refresh = try #require(trace.spans.first { $0.kind == .wait })
        #expect(refresh.duration == .milliseconds(5))
        #expect(trace.children(of: refresh).map(\.duration) == [.milliseconds(5)])
        #expect(trace.children(of: refresh).map(\.outcome) == [.cancelled])
    }
}
