// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting
import TurnpikeTrafficStackFiles

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeStackFiles
@testable import TurnpikeTraffic

@Suite("Resilience gates in stack files")
struct GateSettingsTests {
    private let clock = ManualClock()
    private let registry: Registry = {
        var registry = Registry()
        registry.registerMiddleware()
        registry.registerTraffic()
        registry.register(transport: "failing") { _ in MockTransport { _ in .status(503) } }
        registry.register(transport: "well") { _ in MockTransport { _ in .ok(text: "well") } }
        return registry
    }()

    private func file(_ stack: String, transport: String = "failing") throws -> StackFile {
        try StackFile(
            parsing: Data(#"{"transport": {"use": "\#(transport)"}, "stack": [\#(stack)]}"#.utf8))
    }

    private func configured(
        _ stack: String, transport: String = "failing"
    ) throws -> ConfiguredClient {
        try ConfiguredClient(
            file(stack, transport: transport), registry: registry, serializers: SerializerTable(),
            timeSource: clock)
    }

    @Test(
        "A mistake has its path",
        arguments: [
            (#"{"use": "rateLimit"}"#, "stack[0].perSecond"),
            (#"{"use": "concurrencyLimit", "adaptive": {"mim": 1}}"#, "stack[0].adaptive.mim"),
            (#"{"use": "fallback", "base64": "?"}"#, "stack[0].base64"),
        ])
    func mistakes(gate: String, path: String) throws {
        #expect(try file(gate).check(with: registry).map(\.path) == [path])
    }

    @Test(
        "A reload turns a gate off and on again, and keeps what it has",
        arguments: [
            #"{"use": "retry", "base": 0"#, #"{"use": "hedge""#, #"{"use": "admissionControl""#,
            #"{"use": "rateLimit", "perSecond": 1000"#,
        ])
    func switching(gate: String) async throws {
        let configured = try configured(gate + "}")
        #expect(!(configured.client.stack.gates[0] is Switched))
        try configured.reload(file(gate + #", "switch": 0}"#))
        let control = try #require(configured.client.stack.gates[0] as? Switched).control
        #expect(control.share == 0 && control.setBy == "the stack file")
        #expect(try await configured.client.get(anywhere).response().attempts == 1)
        try configured.reload(file(gate + #", "switch": 0.5}"#))
        #expect(control.share == 0.5, "the same switch")
        #expect(
            try file(gate + #", "switch": 2}"#).check(with: registry).map(\.path)
                == ["stack[0].switch"])
    }

    @Test("Chaos is off until the file says otherwise, and off again when it says so")
    func chaos() async throws {
        let gate = #"{"use": "chaos", "fault": "status", "status": 500, "path": "/x""#
        let configured = try configured(gate + "}", transport: "well")
        func statuses() async throws -> [Int] {
            [
                try await configured.client.get(anywhere).response().status.code,
                try await configured.client.get("http://a.example/y").response().status.code,
            ]
        }
        #expect(try await statuses() == [200, 200])
        try configured.reload(file(gate + #", "switch": 1}"#, transport: "well"))
        #expect(try await statuses() == [500, 200])
        try configured.reload(file(gate + "}", transport: "well"))
        #expect(try await statuses() == [200, 200])
    }

    @Test("The next server is told the time left in the form of the file")
    func propagatedDeadline() async throws {
        let told = #"{"use": "propagateDeadline", "header": "X-T", "form": "milliseconds"}"#
        let configured = try configured(
            #"{"use": "deadline", "seconds": 2}, "# + told, transport: "well")
        _ = try await configured.client.get(anywhere).response()
        let transport = try #require(configured.client.transport as? MockTransport)
        #expect(transport.sent.first?.request.headers["X-T"] == "2000")
    }

    @Test("A breaker stays open over a reload, whatever its rules become")
    func breaker() async throws {
        let configured = try configured(#"{"use": "circuitBreaker", "minimum": 2}"#)
        for _ in 0..<2 { _ = try await configured.client.get(anywhere).response() }
        #expect(await code(of: configured.client.get(anywhere)) == .circuitOpen)
        try configured.reload(file(#"{"use": "circuitBreaker", "minimum": 3}"#))
        #expect(await code(of: configured.client.get(anywhere)) == .circuitOpen)
        try configured.reload(file(#"{"use": "circuitBreaker", "minimum": 1, "window": 60}"#))
        #expect(await code(of: configured.client.get(anywhere)) == .circuitOpen)
        clock.advance(by: .seconds(15))
        #expect(await code(of: configured.client.get(anywhere)) == nil, "a probe")
        let error = await #expect(throws: ClientError.self) {
            try await configured.client.get(anywhere).response()
        }
        #expect(error?.retryAfter == .seconds(30), "twice as long")
    }

    @Test("Admission keeps what it has learned over a reload, and takes the new rules")
    func admission() async throws {
        let configured = try configured(#"{"use": "admissionControl"}"#)
        for _ in 0..<3 {
            clock.advance(by: .seconds(1))
            _ = try await configured.client.get(anywhere).response()
        }
        func wait() async throws -> Duration {
            for _ in 0..<20 {
                do { _ = try await configured.client.get(anywhere).response() } catch {
                    return try #require((error as? ClientError)?.retryAfter)
                }
            }
            return .zero
        }
        #expect(try await wait() > .seconds(14))
        try configured.reload(file(#"{"use": "admissionControl", "recovery": 60}"#))
        #expect(try await wait() > .seconds(50), "calls are still refused, and for longer")
        clock.advance(by: .seconds(60))
        #expect(await code(of: configured.client.get(anywhere)) == nil)
    }

    @Test("A breaker counts by the new rules from a reload on")
    func breakerRules() async throws {
        let configured = try configured(#"{"use": "circuitBreaker", "minimum": 100}"#)
        for _ in 0..<9 { _ = try await configured.client.get(anywhere).response() }
        try configured.reload(file(#"{"use": "circuitBreaker", "minimum": 10, "open": 5}"#))
        _ = try await configured.client.get(anywhere).response()
        let error = await #expect(throws: ClientError.self) {
            try await configured.client.get(anywhere).response()
        }
        #expect(error?.code == .circuitOpen)
        #expect(error?.retryAfter == .seconds(5))
    }

    @Test("A lowered limit still counts the calls under way, and a raised one admits waiting calls")
    func permits() async throws {
        func gate(_ limit: Int) -> String {
            #"{"use": "concurrencyLimit", "total": \#(limit), "perOrigin": \#(limit), "queue": 1}"#
        }
        let configured = try configured(gate(4), transport: "well")
        let client = configured.client
        let limit = try #require(client.stack.gates.first as? ConcurrencyLimit)
        var held: [Response] = []
        for _ in 0..<3 { held.append(try await client.get(anywhere).response()) }
        try configured.reload(file(gate(2), transport: "well"))
        let waiting = Task { try await client.get(anywhere).response() }
        try await until("a waiting caller") { limit.waiting == 1 }
        #expect(await code(of: client.get(anywhere)) == .overloaded)
        held.removeLast().body.cancel(.drop)
        #expect(limit.underWay == 2)
        #expect(limit.waiting == 1)
        try configured.reload(file(gate(3), transport: "well"))
        held.append(try await waiting.value)
        #expect(limit.underWay == 3)
        for response in held { response.body.cancel(.drop) }
        #expect(limit.underWay == 0)
    }

    @Test(
        "Tenants that wait take turns by the field that a file names",
        arguments: [#""concurrencyLimit", "perOrigin": 1"#, #""rateLimit", "perSecond": 1"#])
    func turns(gate: String) async throws {
        let configured = try configured(
            #"{"use": \#(gate), "turnHeader": "X-Tenant"}"#, transport: "well")
        let facts = configured.client.stack.gates.first?.facts(for: nil)
        #expect(facts?.summary.contains("callers take turns") == true)
    }

    @Test("A reload keeps the tokens, unless the rate changes")
    func limits() async throws {
        let rate = try configured(#"{"use": "rateLimit", "perSecond": 1, "queue": 0}"#)
        _ = try await rate.client.get(anywhere).response()
        try rate.reload(file(#"{"use": "rateLimit", "perSecond": 1, "queue": 0}"#))
        #expect(await code(of: rate.client.get(anywhere)) == .rateLimited)
        try rate.reload(file(#"{"use": "rateLimit", "perSecond": 1, "queue": 1}"#))
        let waiting = Task { try await rate.client.get(anywhere).response() }
        try await clock.waitForTimers(1)
        waiting.cancel()
        _ = await waiting.result
        try rate.reload(file(#"{"use": "rateLimit", "perSecond": 2, "queue": 0}"#))
        #expect(await code(of: rate.client.get(anywhere)) == nil)
    }

    @Test("Retries and hedges of a stack draw from one budget, over a reload too")
    func budget() async throws {
        let stack =
            #"{"use": "retry", "attempts": 2, "base": 0, "budget": 0}, {"use": "hedge", "after": 9, "budget": 0}"#
        let configured = try configured(stack)
        // The floor is 10 a second over 10 seconds.
        for _ in 0..<60 { _ = try await configured.client.get(anywhere).response() }
        try configured.reload(
            file(stack.replacingOccurrences(of: #""budget": 0"#, with: #""budget": 0.25"#)))
        var sends = 0
        for _ in 0..<60 {
            sends += try await configured.client.get(anywhere).response().attempts
        }
        // The floor of 100 and a quarter of 120 calls; 60 retries were made before.
        #expect(sends == 60 + 60)
        try configured.reload(file(stack))
        #expect(await code(of: configured.client.get(anywhere)) == nil)
        #expect(try await configured.client.get(anywhere).response().attempts == 1)
    }
}
