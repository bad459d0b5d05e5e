// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

import TurnpikeTraffic
@testable import TurnpikeCurl

/// Kept-alive connections that end after a request was read and before it is answered.
@Suite("Who sends again over libcurl")
struct CurlRepeatTests {
    private struct Resends: MetricsRecorder {
        let seen = Box<[Int]>([])

        func record(_ measurement: CallMeasurement) {
            seen.withLock { $0.append(measurement.resendCount) }
        }
    }

    private final class Box<Value: Sendable>: Sendable {
        private let value: Mutex<Value>

        init(_ value: Value) { self.value = Mutex(value) }

        func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
            value.withLock { body(&$0) }
        }
    }

    private static let backoff = Backoff(base: .nanoseconds(1), max: .nanoseconds(1))

    /// Opens so many connections, which are idle afterwards.
    private func warm(_ fixture: CurlFixture, _ count: Int) async throws {
        let hold = TestHold()
        fixture.server.route("/warm", .ok(text: "x").held(by: hold))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { try await fixture.client.get("warm").empty() } }
            try await fixture.server.wait { $0.open == count }
            try await until("all to be asked") {
                fixture.server.requests(to: "/warm").count == count
            }
            hold.open()
            try await group.waitForAll()
        }
    }

    @Test(
        "Without a retry, a call is sent twice at most, and both sends are counted",
        arguments: [HTTPMethod.get, .put, .delete])
    func withoutRetry(method: HTTPMethod) async throws {
        let resends = Resends()
        let fixture = try CurlFixture(stack: [resends])
        try await warm(fixture, 12)
        fixture.server.route("/x", .close)
        let error = await #expect(throws: ClientError.self) {
            try await fixture.client.request(method, "x").empty()
        }
        #expect(error?.code == .connection)
        #expect(error?.attempts == 2)
        #expect(fixture.server.requests(to: "/x").count == 2)
        #expect(resends.seen.withLock { $0.last } == 1)
    }

    @Test("Without a retry, the second send goes over a new connection, and succeeds")
    func succeeds() async throws {
        let resends = Resends()
        let fixture = try CurlFixture(stack: [resends])
        try await warm(fixture, 12)
        fixture.server.route("/x", .close, .echo)
        let accepted = fixture.server.counts.accepted
        let echo = try await fixture.client.put("x", body: .text("hello")).json()
        #expect(echo["body"] == "hello")
        #expect(fixture.server.requests(to: "/x").count == 2)
        #expect(fixture.server.counts.accepted == accepted + 1)
        #expect(resends.seen.withLock { $0.last } == 1)
    }

    @Test("A retry's attempts are all that is sent, whatever the number of warm connections")
    func retry() async throws {
        let fixture = try CurlFixture(stack: [
            .retry(attempts: 5, backoff: Self.backoff, budget: nil)
        ])
        try await warm(fixture, 40)
        fixture.server.route("/x", .close)
        let error = await #expect(throws: ClientError.self) {
            try await fixture.client.put("x", body: .text("hello")).empty()
        }
        #expect(error?.attempts == 5)
        #expect(fixture.server.requests(to: "/x").count == 5)
    }

    @Test("A retry with one attempt sends once")
    func oneAttempt() async throws {
        let fixture = try CurlFixture(stack: [.retry(attempts: 1)])
        try await warm(fixture, 5)
        fixture.server.route("/x", .close)
        let error = await #expect(throws: ClientError.self) {
            try await fixture.client.get("x").empty()
        }
        #expect(error?.attempts == 1)
        #expect(error?.transfer?.lostReusedConnection == true)
        #expect(fixture.server.requests(to: "/x").count == 1)
    }

    // As a server does that reloads its configuration: it closes connections when a request is on its way.
    @Test("Where connections close under requests, all that may be repeated succeed; POSTs say so")
    func closing() async throws {
        let resends = Resends()
        let fixture = try CurlFixture(stack: [resends])
        let known = Box<Set<Int>>([])
        let (turn, closed) = (Tally(), Tally())
        fixture.server.route(
            "/closing",
            .handler { request in
                // A new connection serves one request at least.
                let isNew = known.withLock { $0.insert(request.connection).inserted }
                if isNew || turn.add() % 3 != 0 { return .echo }
                closed.add()
                return .close
            })
        let methods: [HTTPMethod] = [.get, .put, .delete, .post]
        let failures = Box<[String: Int]>([:])
        let client = fixture.client
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<20 {
                group.addTask {
                    for round in 0..<20 {
                        let method = methods[(worker + round) % 4]
                        do {
                            try await client.request(method, "closing").empty()
                        } catch {
                            let lost = (error as? ClientError)?.transfer?.lostReusedConnection
                            let text = lost == true ? method.rawValue : "\(error)"
                            failures.withLock { $0[text, default: 0] += 1 }
                        }
                    }
                }
            }
        }
        let found = failures.withLock { $0 }
        #expect(Set(found.keys) == ["POST"], "\(found)")
        // Each connection that was closed has cost a POST, or was made up for.
        let made = resends.seen.withLock { $0.reduce(0, +) }
        #expect(found.values.reduce(0, +) + made == closed.count)
    }

    @Test("A rate limit has a permit for each send", arguments: [true, false])
    func permits(hasRetry: Bool) async throws {
        let limit = RateLimit([QuotaRule(20, per: .seconds(86_400), burst: 20)], queue: 0)
        let retry = Retry(attempts: 5, backoff: Self.backoff, budget: nil)
        let fixture = try CurlFixture()
        try await warm(fixture, 40)
        fixture.server.route("/x", .close)
        let client = Client(
            baseURL: fixture.server.target, transport: fixture.client.transport,
            stack: Stack(hasRetry ? [retry, limit] : [limit]))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try? await client.get("x").empty() } }
        }
        #expect(fixture.server.requests(to: "/x").count <= 20)
    }
}
