// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Retry, composed")
struct RetryCompositionTests {
    private let clock = ManualClock()
    private let now = Backoff(base: .zero)

    private func sends(
        _ policy: RetryPolicy, _ answer: MockResponse, by method: HTTPMethod = .get,
        _ change: (Call) -> Call = { $0 }
    ) async -> Int {
        let transport = MockTransport { _ in answer }
        let client = Client(transport, clock: clock, [.retry(policy: policy, backoff: now)])
        _ = try? await change(client.request(method, anywhere)).response()
        return transport.sentCount
    }

    @Test("Either of two policies may retry, each by its own condition")
    func union() async {
        let conflict = RetryPolicy(statuses: [409], codes: [])
        #expect(await sends(.never, .status(503)) == 1)
        #expect(await sends(conflict, .status(503)) == 1)
        #expect(await sends(conflict.or(.standard), .status(503)) == 3)
        #expect(await sends(.standard.or(conflict), .status(409)) == 3)
        let final = RetryPolicy.never.deciding { $0.head?.headers["X-Final"] == "1" ? false : nil }
        let always = RetryPolicy.never.deciding { _ in true }
        let marked = MockResponse.status(503, headers: ["X-Final": "1"])
        #expect(await sends(final, marked) == 1)
        #expect(await sends(final.or(.standard), marked) == 3)
        #expect(await sends(final.or(always), marked) == 3)
        #expect(await sends(always.or(final), marked) == 3)
        #expect(await sends(final.or(always), .status(404)) == 3)
    }

    @Test(
        "The methods of one policy do not apply to the statuses, codes and errors of another",
        arguments: [true, false])
    func whole(isFirst: Bool) async {
        let posts = RetryPolicy(statuses: [429], codes: [.tls], methods: [.post])
        let union = isFirst ? posts.or(.standard) : .standard.or(posts)
        #expect(await sends(union, .status(429), by: .post) == 3)
        #expect(await sends(union, .failure(ClientError(.tls, "x")), by: .post) == 3)
        #expect(await sends(union, .status(500)) == 3)
        #expect(await sends(union, .status(429)) == 3)
        #expect(await sends(union, .status(500), by: .post) == 1)
        #expect(await sends(union, .connectionLost, by: .post) == 1)
        #expect(await sends(union, .failure(ClientError(.tls, "x"))) == 1)
        #expect(await sends(union, .status(404), by: .post) == 1)
        // A third policy, and one that is itself a union.
        let third = RetryPolicy(statuses: [404], codes: [], methods: [.patch])
        #expect(await sends(union.or(third), .status(404), by: .patch) == 3)
        #expect(await sends(third.or(union), .status(500), by: .patch) == 1)
        #expect(await sends(third.or(union), .status(429), by: .post) == 3)
    }

    @Test("A condition that is added to a union decides for all of its policies, by their methods")
    func conditionOfUnion() async {
        let posts = RetryPolicy(statuses: [429], codes: [], methods: [.post])
        let union = RetryPolicy.standard.or(posts).deciding {
            $0.status == 404 ? true : $0.head?.headers["X-Final"] == "1" ? false : nil
        }
        #expect(await sends(union, .status(404), by: .post) == 3)
        #expect(await sends(union, .status(404)) == 3)
        #expect(await sends(union, .status(404), by: .patch) == 1)
        #expect(await sends(union, .status(429, headers: ["X-Final": "1"]), by: .post) == 1)
        #expect(await sends(union, .status(503, headers: ["X-Final": "1"])) == 1)
        #expect(await sends(union, .status(429), by: .post) == 3)
        #expect(await sends(union, .status(500), by: .post) == 1)
    }

    @Test("A POST that only the statuses of another policy would retry is told why it is not")
    func explanation() async {
        let posts = RetryPolicy(statuses: [429], codes: [], methods: [.post])
        let client = Client(
            MockTransport { _ in .connectionLost }, clock: clock,
            [.retry(policy: .standard.or(posts), backoff: now)])
        let error = await #expect(throws: ClientError.self) {
            try await client.post(anywhere).response()
        }
        let text = error?.description ?? ""
        #expect(text.contains("POST may have an effect each time"), "\(text)")
    }

    @Test(
        "Content is requested again if one policy as a whole allows it",
        arguments: [(HTTPMethod.get, 3), (.post, 1), (.patch, 3)])
    func content(method: HTTPMethod, expected: Int) async {
        let posts = RetryPolicy(statuses: [429], codes: [], methods: [.post])
        let patches = RetryPolicy(
            statuses: [], codes: [.incomplete], methods: [.patch])
        let transport = MockTransport { _ in
            .cut(after: Data("par".utf8), of: 7)
        }
        let client = Client(
            transport, clock: clock,
            [.retry(policy: .standard.or(posts).or(patches), backoff: now)])
        _ = await code(of: client.request(method, anywhere))
        #expect(transport.sentCount == expected)
    }

    @Test("Decorrelated delays grow from the previous delay, between base and maximum")
    func decorrelated() {
        let backoff = Backoff(base: .seconds(1), max: .seconds(20), jitter: .decorrelated)
        func wait(_ previous: Duration?, _ unit: Double) -> Duration {
            backoff.delay(afterAttempt: 5, isThrottled: false, previous: previous, unit: unit)
        }
        #expect(wait(nil, 0) == .seconds(1))
        #expect(wait(nil, 0.5) == .seconds(2))
        #expect(wait(.seconds(4), 0) == .seconds(1))
        #expect(wait(.seconds(4), 0.5) == .seconds(6.5))
        #expect(wait(.seconds(15), 1) == .seconds(20))
        #expect(wait(.zero, 1) == .seconds(3))
    }

    @Test("The previous delay is the one that was used")
    func previousDelay() async throws {
        let client = Client(
            MockTransport { _ in .status(500) }, clock: clock,
            [
                .retry(
                    attempts: 4,
                    backoff: Backoff(base: .seconds(1), max: .seconds(60), jitter: .decorrelated))
            ])
        let call = Task { try await client.get(anywhere).response() }
        var last = Duration.seconds(1)
        for _ in 0..<3 {
            try await clock.waitForTimers(1)
            let before = clock.now
            clock.advanceToNextTimer()
            let waited = before.duration(to: clock.now)
            #expect((.seconds(1)...max(last * 3, .seconds(1))).contains(waited))
            last = waited
        }
        #expect(try await call.value.status == 500)
    }

    @Test("The error lists every attempt")
    func history() async throws {
        let transport = MockTransport([
            .any(.status(503).delayed(by: .seconds(1)), .connectionRefused, .status(502))
        ])
        let client = Client(
            transport, clock: clock,
            [.validate(), .retry(backoff: Backoff(base: .seconds(2), jitter: .none))])
        let call = Task { try await client.get(anywhere).response() }
        for _ in 0..<3 {
            try await clock.waitForTimers(1)
            clock.advanceToNextTimer()
        }
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .validation)
        #expect(error?.history.map(\.status) == [503, nil, 502])
        #expect(error?.history.map(\.errorType) == [nil, "connection", nil])
        #expect(error?.history.map(\.elapsed) == [.seconds(1), .zero, .zero])
        #expect(error?.history.map(\.delay) == [nil, .seconds(2), .seconds(4)])
        #expect(
            error?.description.contains(
                "[3 attempts: 503 in 1 s, connection in 0 s, 502 in 0 s]") == true)
        let inside = Client(
            MockTransport { _ in .connectionLost }, clock: clock, [.retry(backoff: now)])
        let second = await #expect(throws: ClientError.self) {
            try await inside.get(anywhere).response()
        }
        #expect(second?.history.map(\.number) == [1, 2, 3])
        #expect(second?.history.map(\.errorType) == ["connection", "connection", "connection"])
    }

    @Test("A call without a retry has no history")
    func noHistory() async throws {
        let client = Client(
            MockTransport { _ in .connectionLost }, clock: clock, [.retry(attempts: 1)])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.history.isEmpty == true)
    }
}
