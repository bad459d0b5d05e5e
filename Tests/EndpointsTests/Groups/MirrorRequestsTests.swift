// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeInspection
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Mirrored requests", .timeLimit(.minutes(2)))
struct MirrorRequestsTests {
    private static let own = "https://api.example/v1/"
    private static let other = "https://next.example/v2/"
    private let clock = ManualClock()
    private let store = MetricsStore()

    private func gate(
        to group: String = other, limit: Int = 32, maxBytes: Int = 100, credentials: Bool = false
    ) -> MirrorRequests {
        MirrorRequests(
            of: Self.own, to: group, limit: limit, maxBytes: maxBytes,
            carriesCredentials: credentials, meter: store)
    }

    /// A transport with an answer for calls and one for copies.
    private func transport(
        _ answer: MockResponse = .ok(text: "a"), copy: MockResponse = .ok(text: "a")
    ) -> MockTransport {
        MockTransport { $0.origin?.host == "next.example" ? copy : answer }
    }

    private func waitFor(_ result: MirrorRequests.Result, _ count: Int = 1) async throws {
        let line = "turnpike_mirror_copies_total{turnpike_result=\"\(result)\"} \(count)"
        try await until(line + " in\n" + store.prometheusText) {
            store.prometheusText.contains(line + "\n")
        }
    }

    private func copies(_ transport: MockTransport) -> [Request] {
        transport.sent.map(\.request).filter { $0.url.absoluteString.hasPrefix(Self.other) }
    }

    private let call = Target(own + "x?a=b")

    // MARK: Comparison

    static let results: [(MockResponse, MockResponse, MirrorRequests.Result)] = [
        (.ok(text: "ab"), .stream([Data("a".utf8), Data("b".utf8)]), .same),
        (.ok(text: "a"), .ok(text: "b"), .content),
        (.status(404, body: Data("a".utf8)), .ok(text: "a"), .status),
        (.status(204), .status(204), .same),
        (.ok(text: "a"), .connectionRefused, .failed),
        (.ok(text: "a"), .stream([Data("a".utf8)], thenThrow: CancellationError()), .failed),
        (.connectionRefused, .ok(text: "a"), .unread),
        (.ok(text: "a"), .ok(text: String(repeating: "a", count: 101)), .dropped),
        (.ok(text: String(repeating: "a", count: 101)), .ok(text: "a"), .content),
    ]

    @Test("Status and content are compared and counted", arguments: results.indices)
    func compared(index: Int) async throws {
        let (answer, copy, result) = Self.results[index]
        let transport = transport(answer, copy: copy)
        _ = try? await Client(transport, clock: clock, gate()).get(call).serialize(with: Text())
        try await waitFor(result)
        #expect(copies(transport).map(\.url.absoluteString) == [Self.other + "x?a=b"])
    }

    @Test("A response that is dropped, or not read within the time, is no difference")
    func unread() async throws {
        let client = Client(
            transport(.stream([Data("a".utf8), Data("b".utf8)])), clock: clock, gate())
        var response: Response? = try await client.get(call).response()
        response = nil
        try await waitFor(.unread)
        response = try await client.get(call).response()
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(5))
        try await waitFor(.unread, 2)
        withExtendedLifetime(response) {}
    }

    // MARK: The call

    /// Never answers copies, whatever is cancelled.
    private struct Hanging: Transport {
        let capabilities = TransportCapabilities()
        let inner: MockTransport

        func send(_ request: Request, context: Context) async throws -> Response {
            if request.origin?.host == "next.example" {
                unsafe await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }
            return try await inner.send(request, context: context)
        }

        func shutdown() async {}
    }

    @Test("A copy that hangs delays nothing, ends at its time limit, and gives its place back")
    func hanging() async throws {
        let client = Client(Hanging(inner: transport()), clock: clock, gate(limit: 1))
        for _ in 1...2 { #expect(try await client.get(call).serialize(with: Text()) == "a") }
        try await waitFor(.dropped)
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(5))
        try await waitFor(.failed)
        _ = try await client.get(call).response()
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(5))
        try await waitFor(.failed, 2)
    }

    @Test("The client's shutdown ends copies, and so does the end of all calls")
    func shutdown() async throws {
        let client = Client(Hanging(inner: transport()), clock: SystemTimeSource(), gate())
        _ = try await client.get(call).serialize(with: Text())
        client.cancelAll()
        try await waitFor(.dropped)
        _ = try await client.get(call).serialize(with: Text())
        await client.shutdown()
        try await waitFor(.dropped, 2)
    }

    @Test("Neither a failed copy nor a retry of the call sends a copy again")
    func retried() async throws {
        let transport = transport(.status(503), copy: .status(503))
        let retry = Retry(attempts: 3, backoff: Backoff(base: .zero, max: .zero), budget: nil)
        let client = Client(transport, clock: SystemTimeSource(), retry, gate())
        _ = try await client.get(call).serialize(with: Text())
        try await waitFor(.same)
        #expect(copies(transport).count == 1 && transport.sentCount == 4)
    }

    // MARK: What is sent

    @Test("A copy has no secret for another origin unless it is asked for, and never cookies")
    func secrets() async throws {
        let headers: HTTPHeaders = [
            "Authorization": "Bearer t", "Cookie": "a=b", "X-API-Key": "k", "Accept": "text/plain",
            "Host": "api.example", "Referer": "https://api.example/?access_token=abc",
        ]
        func sent(_ gate: MirrorRequests) async throws -> HTTPHeaders {
            let transport = MockTransport { _ in .ok() }
            let client = Client(transport, clock: clock, gate)
            _ = try await client.get(call, headers: headers)
                .through(
                    Around { request, _, next in
                        var request = request
                        request.options.connectTarget = .host("10.0.0.7", port: 443)
                        return try await next(request)
                    }
                ).response()
            try await transport.waitForSends(2)
            let copy = transport.sent.map(\.request).first { $0.url.path().hasPrefix("/v2") }
            #expect(copy?.options.connectTarget == nil)
            return try #require(copy).headers
        }
        func names(_ headers: HTTPHeaders) -> Set<String> {
            Set(headers.map(\.name.lowercased)).intersection(
                ["authorization", "cookie", "x-api-key", "accept", "host", "referer"])
        }
        #expect(try await names(sent(gate())) == ["accept"])
        #expect(
            try await names(sent(gate(credentials: true))) == [
                "accept", "authorization", "referer", "x-api-key",
            ])
        let same = try await names(sent(gate(to: "https://api.example/v2/")))
        #expect(same == ["accept", "authorization", "cookie", "host", "referer", "x-api-key"])
    }

    @Test("No copy is made of requests that have an effect, ask for a part, or hold a secret")
    func spared() async throws {
        var streaming = RequestOptions()
        streaming.isStreaming = true
        let requests = [
            Request(.post, call), Request(.get, "https://api.example/v2/x"),
            Request(.get, call, headers: ["If-None-Match": "\"a\""]),
            Request(.get, call, headers: ["Range": "bytes=0-1"]),
            Request(.get, call, options: streaming),
            Request(.get, Target(Self.own + "x?access_token=abc")),
            Request(.get, Target(Self.own + "x;access_token=abc/y")),
        ]
        let gate = gate()
        for request in requests {
            #expect(gate.facts(for: request)?.passedOver != nil, "\(request)")
            let transport = transport()
            let client = Client(transport, clock: clock, gate)
            _ = try await client.request(request).serialize(with: Text())
            await client.shutdown()
            #expect(transport.sentCount == 1, "\(request)")
        }
        #expect(gate.facts(for: Request(.head, call))?.passedOver == nil)
        let inClear = self.gate(to: "http://next.example/")
        #expect(await code(of: Client(transport(), inClear).get(call)) == .configuration)
    }

    // MARK: Laws

    @Test("Calls get what they get without a mirror, and when; each first attempt is counted once")
    func law() async throws {
        for run in Law.runs {
            let (store, limit) = (MetricsStore(), Dice.limit(run))
            let gate = MirrorRequests(
                of: Self.own, to: Self.other, limit: limit, timeLimit: .milliseconds(700),
                meter: store)
            let plain = try await Self.outcomes(run, nil)
            let mirrored = try await Self.outcomes(run, gate)
            Law.holds(plain == mirrored, run, "\(plain) is \(mirrored)")
            let counts = store.prometheusText.split(separator: "\n")
                .filter { $0.hasPrefix("turnpike_mirror_copies_total{") }
                .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
            Law.holds(counts.reduce(0, +) == 6, run, "\(counts) is one for each call")
            Law.holds(gate.underWay.count.load(ordering: .relaxed) == 0, run, "all have ended")
        }
    }

    /// What calls get, and when.
    private static func outcomes(_ run: UInt64, _ mirror: MirrorRequests?) async throws -> [String]
    {
        try await Simulation(seed: Law.seed(run)).run { simulation in
            let clock = simulation.clock
            let transport = MockTransport { request in
                let isCopy = request.origin?.host == "next.example"
                let number = UInt64(request.url.lastPathComponent) ?? 0
                var dice = Dice(seed: Law.seed(run) ^ number << 8 ^ (isCopy ? 1 : 0))
                if isCopy, let count = mirror?.underWay.count.load(ordering: .relaxed) {
                    Law.holds(count <= Dice.limit(run), run, "the bound of copies")
                }
                return answer(&dice)
            }
            let retry = Retry(attempts: 2, backoff: Backoff(base: .zero, max: .zero), budget: nil)
            let gates: [any Gate] = [Deadline(.seconds(2)), retry]
            let client = Client(
                transport, clock: clock, seed: run, Stack(gates + (mirror.map { [$0] } ?? [])))
            let outcomes = await withTaskGroup(of: (Int, String).self) { group in
                for number in 0..<6 {
                    group.addTask {
                        let start = clock.now
                        var result: String
                        do {
                            result = try await client.get(Target(own + "\(number)"))
                                .serialize(with: Text())
                        } catch {
                            result = (error as? ClientError)?.code.rawValue ?? "\(error)"
                        }
                        return (number, "\(result) after \(start.duration(to: clock.now))")
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            await client.shutdown(grace: .seconds(1))
            return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func answer(_ dice: inout Dice) -> MockResponse {
        let answer: MockResponse =
            switch dice.roll(0...5) {
            case 0: .connectionRefused
            case 1: .status(503)
            case 2: .stream([Data("a".utf8)], thenThrow: ClientError(.incomplete, "cut"))
            default: .stream([Data("a".utf8), Data("b".utf8)], every: .milliseconds(5))
            }
        return answer.delayed(
            by: dice.chance(0.2) ? .seconds(100) : .milliseconds(dice.roll(0...900)))
    }
}

extension Dice {
    fileprivate static func limit(_ run: UInt64) -> Int {
        var dice = Dice(seed: ~Law.seed(run))
        return dice.roll(1...4)
    }
}
