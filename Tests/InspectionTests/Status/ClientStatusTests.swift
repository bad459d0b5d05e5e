// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCache
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCore
@testable import TurnpikeInspection
@testable import TurnpikeMiddleware

@Suite("ClientStatus")
struct ClientStatusTests {
    /// A gate with lines that a test gives.
    struct Telling: Interceptor {
        var lines: [LiveFigure]

        func liveFigures(at now: MonotonicInstant) -> [LiveFigure] { lines }
        func intercept(
            _ request: Request, context: Context, next: Next
        ) async throws -> Response { try await next(request) }
    }

    private let clock = ManualClock()
    private let origin = Origin(scheme: "http", host: "a.example", port: 80)

    private func lines(_ client: Client, _ name: String) -> [String] {
        ClientStatus(of: client).parts.filter { $0.name == name }.flatMap(\.figures).map {
            ($0.isTrouble ? "! " : "") + "\($0.name): \($0.value)"
        }
    }

    @Test("It says first why calls fail, then each gate in its place")
    func screen() async throws {
        let hedging = Switch()
        let breaker = CircuitBreaker()
        let client = Client(
            baseURL: "http://a.example/v1/", transport: MockTransport { _ in .ok() },
            stack: [
                .deadline(.seconds(5)), .switched(by: hedging, [.hedge(after: .seconds(1))]),
                breaker, .chaos(.status(503), switch: Switch(share: 0.5, by: "Bob")),
            ], serializers: SerializerTable(), timeSource: clock)
        #expect(
            ClientStatus(of: client).troubles == [
                "Chaos: switch: on for 50.0 % of the calls, set by Bob"
            ])
        hedging.set(share: 0, by: "Ann, incident 7")
        breaker.isolate(origin, by: "Ann")
        let text = "\(ClientStatus(of: client))".split(separator: "\n").map(String.init)
        #expect(
            text.dropFirst().prefix(4) == [
                "! Switched: switch: off, set by Ann, incident 7",
                "! CircuitBreaker: circuit of http://a.example: isolated by hand (Ann) until it is"
                    + " closed by hand",
                "! Chaos: switch: on for 50.0 % of the calls, set by Bob",
                "       Client          for http://a.example/v1/",
            ])
        let heads = ClientStatus(of: client).parts.map { "\($0.place) \($0.name)" }
        #expect(
            heads == [
                " Client", "1 Deadline", "2 Switched", "2.1 Hedge", "3 CircuitBreaker", "4 Chaos",
                " MockTransport",
            ])
        #expect(
            text.contains(
                "  2.1  Hedge           sends up to 1 more, after 1 s, and takes the first good response"
            ))
        #expect(
            text.contains {
                $0.hasPrefix("!      ") && $0.hasSuffix("switch: off, set by Ann, incident 7")
            })
        breaker.close(origin, by: "Ann")
        #expect(ClientStatus(of: client).troubles.count == 2)
    }

    @Test("A circuit says when it lets a probe through, and how many have succeeded")
    func circuit() async throws {
        let breaker = CircuitBreaker(minimum: 1, probes: 2)
        let transport = MockTransport([.any(.status(503), .ok(), .ok(text: "held"))])
        let client = Client(transport, clock: clock, [breaker])
        #expect(lines(client, "CircuitBreaker") == [])
        _ = try await client.get(anywhere).response()
        clock.advance(by: .seconds(3))
        #expect(
            lines(client, "CircuitBreaker") == [
                "! circuit of http://a.example: open; a probe in 12 s"
            ])
        clock.advance(by: .seconds(12))
        _ = try await client.get(anywhere).response()
        #expect(
            lines(client, "CircuitBreaker") == [
                "! circuit of http://a.example: half-open; 1 of 1 probes succeeded, 2 must"
            ])
        _ = try await client.get(anywhere).response().body.collect(upTo: 9)
        #expect(lines(client, "CircuitBreaker") == [])
    }

    @Test("A limit says how many permits are taken, and how many calls wait in line")
    func permits() async throws {
        let transport = MockTransport { _ in .ok(text: "x") }
        let client = Client(
            transport, clock: clock, [.concurrencyLimit(total: 5, perOrigin: 1, queue: 7)])
        #expect(lines(client, "ConcurrencyLimit") == ["in line: 0 of 7", "permits: 0 of 5"])
        let first = try await client.get(anywhere).response()
        let second = Task { await code(of: client.get(anywhere)) }
        try await until("a call in line") {
            lines(client, "ConcurrencyLimit") == [
                "! in line: 1 of 7", "! permits to http://a.example: 1 of 1, 1 in line",
                "permits: 1 of 5",
            ]
        }
        let calls = lines(client, "Client")
        #expect(calls.first?.hasSuffix("GET http://a.example/x, for 0 s") == true)
        #expect(calls.last == "calls: 2 under way")
        first.body.cancel(.drop)
        #expect(await second.value == nil)
        #expect(lines(client, "ConcurrencyLimit") == ["in line: 0 of 7", "permits: 0 of 5"])
    }

    @Test("A retry budget that is spent is trouble, and so is a share that is refused")
    func budget() async throws {
        let retry = Retry(
            backoff: .constant(.zero), budget: RetryBudget(ratio: 1, floorPerSecond: 0))
        let client = Client(
            MockTransport { _ in .status(503) }, clock: clock, [retry, .admissionControl()])
        #expect(lines(client, "Retry") == [])
        _ = await code(of: client.get(anywhere))
        #expect(
            lines(client, "Retry") == [
                "! retry budget of http://a.example: 1 retries, 1 calls, spent"
            ])
        #expect(lines(client, "AdmissionControl") == [])
        for _ in 0..<3 {
            clock.advance(by: .seconds(1))
            _ = await code(of: client.get(anywhere))
        }
        let admission = try #require(lines(client, "AdmissionControl").first)
        #expect(
            admission.wholeMatch(of: /! calls to http:\/\/a.example: [1-9] % are admitted/) != nil)
        clock.advance(by: .seconds(100))
        #expect(lines(client, "Retry") + lines(client, "AdmissionControl") == [])
    }

    @Test("A rate limit tells its line and its cool-downs, but not whose account it is")
    func rateLimit() async throws {
        let limit = RateLimit(perSecond: 1, cooldowns: Cooldowns()).key { _ in "account-4711" }
        let transport = MockTransport([
            .any(.status(429, headers: ["Retry-After": "30"]), .ok())
        ])
        let client = Client(transport, clock: clock, [limit])
        _ = try await client.get(anywhere).response()
        clock.advance(by: .seconds(10))
        let waiting = Task { await code(of: client.get(anywhere)) }
        try await until("a call in line") {
            lines(client, "RateLimit") == [
                "! cool-down of http://a.example: 20 s left", "! in line: 1 of 1000",
            ]
        }
        clock.advance(by: .seconds(20))
        #expect(await waiting.value == nil)
        #expect(lines(client, "RateLimit") == ["in line: 0 of 1000"])
    }

    @Test("A cache tells how it has answered")
    func cache() async throws {
        let transport = MockTransport { _ in
            .ok(text: "x", headers: ["Cache-Control": "max-age=60"])
        }
        let client = Client(transport, clock: clock, [Cache()])
        for _ in 0..<3 { _ = try await client.get(anywhere).response().body.collect(upTo: 9) }
        #expect(
            lines(client, "Cache") == [
                "answers so far: 2 fresh, 0 stale, 0 validated, 1 sent, 0 bypassed",
                "store: 1 responses, 0 faults so far",
            ])
    }

    @Test("Of many lines forty are shown, trouble first, and a long one is cut")
    func bounds() throws {
        var gate = Telling(lines: (0..<100).map { LiveFigure("\($0)", "x") })
        gate.lines.append(LiveFigure("z", String(repeating: "y", count: 100_000), isTrouble: true))
        let client = Client(MockTransport { _ in .ok() }, clock: clock, gate)
        let part = try #require(ClientStatus(of: client).parts.first { $0.name == "Telling" })
        #expect(part.figures.count == 40 && part.figures[0].name == "z")
        #expect(part.figures[0].value.utf8.count == 400)
        #expect(part.summary == " (61 lines left out)")
    }

    @Test("No secret is in it, and nothing of others becomes a control character or markup")
    func secrets() async throws {
        let gate = Telling(lines: [
            LiveFigure(
                "of http://u:s3cret@b.example/?sig=s3cret", "Bearer s3cret", isTrouble: true),
            LiveFigure("<img src=x>\u{1B}[2J", "a & b\u{202E}"),
        ])
        let client = Client(
            baseURL: "http://user:s3cret@a.example/?api_key=s3cret",
            transport: MockTransport { _ in .ok(text: "x") }, stack: [gate],
            serializers: SerializerTable(), timeSource: clock)
        let held = try await client.get("http://u:s3cret@a.example/?access_token=s3cret").response()
        let status = ClientStatus(of: client)
        let html = [status].html(title: "A & <b>")
        let all = ["\(status)", html, String(decoding: try [status].json(), as: UTF8.self)]
        for text in all {
            #expect(!text.contains("s3cret"))
            #expect(text.contains("REDACTED") && text.contains("a.example"))
            #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}"))
        }
        #expect(html.contains("<td>&lt;img src=x&gt;\\u{1b}[2J</td><td>a &amp; b\\u{202e}</td>"))
        #expect(html.contains("<title>A &amp; &lt;b&gt;</title>"))
        #expect(!html.contains("<img") && !html.contains("<script"))
        #expect(html.contains("content=\"default-src 'none'; style-src 'sha256-"))
        held.body.cancel(.drop)
    }
}
