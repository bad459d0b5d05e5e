// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("Priorities in the lines of limits")
struct PrioritiesTests {
    /// A limit, of which a test needs its line.
    enum Limit: CaseIterable, CustomTestStringConvertible {
        case concurrency, rate

        var testDescription: String { self == .rate ? "RateLimit" : "ConcurrencyLimit" }
        var refusal: ClientError.Code { self == .rate ? .rateLimited : .overloaded }
    }

    private let clock = ManualClock()
    private let store = MetricsStore()
    private let limits: (concurrency: ConcurrencyLimit, rate: RateLimit)

    init() {
        limits = (
            ConcurrencyLimit(perOrigin: 1, queue: 3, meter: store)
                .takingTurns { $0.headers["X-Tenant"] },
            RateLimit(perSecond: 1, queue: 3, meter: store).takingTurns { $0.headers["X-Tenant"] }
        )
    }

    private func waiting(_ limit: Limit) -> Int {
        limit == .rate ? limits.rate.limiter.waitingCount : limits.concurrency.waiting
    }

    /// Sends calls, one after another, while the limit lets none go; then lets all go.
    /// - Returns: The paths that the server saw, and the errors by path.
    private func run(
        _ limit: Limit, _ calls: [(path: String, criticality: Criticality, tenant: String)]
    ) async throws -> (sent: [String], errors: [String: ClientError]) {
        let transport = MockTransport { _ in .ok(text: "x") }
        let gate: any Gate = limit == .rate ? limits.rate : limits.concurrency
        let client = Client(transport, clock: clock, [gate])
        let first = try await client.get(anywhere).response()
        var tasks: [(path: String, task: Task<ClientError?, Never>)] = []
        for (index, call) in calls.enumerated() {
            let task = Task<ClientError?, Never> {
                do {
                    let response =
                        try await client
                        .get(Target("http://a.example/" + call.path))
                        .criticality(call.criticality).header("X-Tenant", call.tenant).response()
                    _ = try await response.body.collect(upTo: 9)
                    return nil
                } catch {
                    return error as? ClientError
                }
            }
            tasks.append((call.path, task))
            // The line has three places; then each call has one refused.
            try await until("call \(index)") { waited(limit) == index + 1 }
        }
        first.body.cancel(.drop)
        while waiting(limit) > 0 {
            if limit == .rate { clock.advance(by: .seconds(1)) }
            await Task.yield()
        }
        var errors: [String: ClientError] = [:]
        for (path, task) in tasks { errors[path] = await task.value }
        return (
            transport.sent.dropFirst().map { String($0.request.url.path.dropFirst()) }, errors
        )
    }

    /// How many calls have waited, or were refused.
    private func waited(_ limit: Limit) -> Int {
        let name = limit == .rate ? "rate_limit" : "concurrency_limit"
        let counter = "turnpike_\(name)_refusals_total{"
        let line = store.prometheusText.split(separator: "\n").first { $0.hasPrefix(counter) }
        return waiting(limit) + (line?.split(separator: " ").last.flatMap { Int($0) } ?? 0)
    }

    @Test("Calls go by class, and by age within a class", arguments: Limit.allCases)
    func order(limit: Limit) async throws {
        let (sent, errors) = try await run(
            limit, [("1", .sheddable, "a"), ("2", .default, "a"), ("3", .critical, "a")])
        #expect(sent == ["3", "2", "1"])
        #expect(errors.isEmpty)
    }

    @Test("Tenants that wait take turns", arguments: Limit.allCases)
    func turns(limit: Limit) async throws {
        let (sent, _) = try await run(
            limit, [("1", .default, "a"), ("2", .default, "a"), ("3", .default, "b")])
        #expect(sent == ["1", "3", "2"])
    }

    @Test("A full line refuses a lower class first, then the longest backlog, and counts them")
    func full() async throws {
        for limit in Limit.allCases {
            let (sent, errors) = try await run(
                limit,
                [
                    ("1", .default, "a"), ("2", .sheddable, "a"), ("3", .default, "a"),
                    ("4", .default, "b"), ("5", .default, "c"), ("6", .sheddable, "d"),
                ])
            #expect(sent == ["1", "4", "5"])
            #expect(Set(errors.keys) == ["2", "3", "6"])
            #expect(errors.values.allSatisfy { $0.code == limit.refusal })
            #expect(errors.values.allSatisfy { $0.message.contains("is full") })
            let name = limit == .rate ? "rate_limit" : "concurrency_limit"
            #expect(store.prometheusText.contains("turnpike_\(name)_refusals_total{"))
            #expect(store.prometheusText.contains("} 3\n"))
        }
    }

    @Test("A full line over all origins refuses a lower class wherever it waits")
    func elsewhere() throws {
        let origins = ["a", "b"].map { Origin(scheme: "http", host: $0, port: 80) }
        let sheddable = Precedence(criticality: .sheddable)
        let permits = Permits(total: 1, perOrigin: 1, queue: 1, adaptive: nil)
        let limiter = RateLimit(perSecond: 1, queue: 1).limiter
        let keys = origins.map { QuotaKey(origin: $0) }
        #expect(try permits.take(origins[0], timeSource: clock) == nil)
        for key in keys { _ = try limiter.take(key, timeSource: clock) }
        let low = [
            try #require(try permits.take(origins[0], sheddable, timeSource: clock)),
            try #require(try limiter.take(keys[0], sheddable, timeSource: clock)),
        ]
        let high = [
            try #require(try permits.take(origins[1], timeSource: clock)),
            try #require(try limiter.take(keys[1], timeSource: clock)),
        ]
        #expect(!low.contains { !$0.turn.isSettled } && !high.contains { $0.turn.isSettled })
        #expect(throws: ClientError.self) { try permits.take(origins[0], timeSource: clock) }
        #expect(throws: ClientError.self) { try limiter.take(keys[0], timeSource: clock) }
        permits.giveBack(origins[0])
        clock.advance(by: .seconds(1))
        #expect(!high.contains { !$0.turn.isSettled })
        #expect(permits.waitingCount == 0 && limiter.waitingCount == 0 && clock.timerCount == 0)
    }

    @Test("The total goes to the highest class of all origins, and one turn in 20 to the oldest")
    func total() throws {
        let origins = ["a", "b"].map { Origin(scheme: "http", host: $0, port: 80) }
        let permits = Permits(total: 1, perOrigin: 1, queue: 100, adaptive: nil)
        #expect(try permits.take(origins[1], timeSource: clock) == nil)
        let old = try #require(
            try permits.take(
                origins[0], Precedence(criticality: .sheddable), timeSource: clock))
        let critical = Precedence(criticality: .critical)
        let new = try (0..<30).map { _ in
            try #require(try permits.take(origins[1], critical, timeSource: clock))
        }
        for turn in 1...19 {
            permits.giveBack(origins[1])
            #expect(new.count(where: \.turn.isSettled) == turn && !old.turn.isSettled)
        }
        permits.giveBack(origins[1])
        #expect(new.count(where: \.turn.isSettled) == 19 && old.turn.isSettled)
    }

    @Test("A deadline refuses a call at once only if its turn would come too late in its class")
    func deadline() throws {
        let limiter = RateLimit(perSecond: 1).limiter
        let key = QuotaKey(origin: Origin(scheme: "http", host: "a", port: 80))
        for _ in 0..<5 { _ = try limiter.take(key, timeSource: clock) }
        let soon = clock.now.advanced(by: .seconds(3))
        #expect(throws: ClientError.self) {
            try limiter.take(key, deadline: soon, timeSource: clock)
        }
        let critical = Precedence(criticality: .critical)
        let call = try limiter.take(key, critical, deadline: soon, timeSource: clock)
        clock.advance(by: .seconds(1))
        #expect(call?.turn.isSettled == true)
    }

    @Test("Facts of a request tell its place in line")
    func facts() {
        for gate: any Gate in [ConcurrencyLimit(), RateLimit(perSecond: 1)] {
            var request = Request(.get, "http://a.example/")
            func summary(_ gate: any Gate) -> String { gate.facts(for: request)?.summary ?? "" }
            let plain = summary(gate)
            request.options.criticality = .critical
            #expect(summary(gate) == plain + ", this one before others")
            request.options.criticality = .sheddable
            #expect(summary(gate) == plain + ", this one behind others")
        }
        let turns = ConcurrencyLimit().takingTurns { _ in nil }
        #expect(turns.facts(for: nil)?.summary.hasSuffix("and callers take turns") == true)
    }
}
