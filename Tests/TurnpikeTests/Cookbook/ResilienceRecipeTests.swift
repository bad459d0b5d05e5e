// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeInspection
import TurnpikeTesting

@Suite("Cookbook: resilience")
struct ResilienceRecipeTests {
    private func client(
        _ transport: MockTransport, _ stack: Stack = .standard,
        clock: any TimeSource = SystemTimeSource()
    ) -> Client {
        Client(
            baseURL: "https://api.example.com/v1/", transport: transport, stack: stack,
            timeSource: clock)
    }

    @Test("A late answer is asked for a second time, and the first good one wins")
    func hedgedReads() async throws {
        let transport = MockTransport([
            .any(.ok(text: "late").delayed(by: .seconds(60)), .ok(text: "soon"))
        ])
        let clock = ManualClock()
        let client = client(transport, makeReadClient(transport).stack, clock: clock)
        async let text = client.get("search").string()
        try await clock.waitForTimer(in: .milliseconds(200))
        clock.advance(by: .milliseconds(200))
        #expect(try await text == "soon")
        #expect(transport.sentCount == 2)
    }

    @Test("A tenant that asks too often waits, and the others do not")
    func tenantLimits() async throws {
        let transport = MockTransport { _ in .ok() }
        let clock = ManualClock()
        let client = client(transport, [TenantRateLimit(perSecond: 1)], clock: clock)
        for _ in 0..<5 { try await client.get("x").option(TenantOption.self, "blue").empty() }
        async let late: Void = client.get("x").option(TenantOption.self, "blue").empty()
        try await clock.waitForTimers(1)
        try await client.get("x").option(TenantOption.self, "red").empty()
        #expect(transport.sentCount == 6)
        clock.advance(by: .seconds(1))
        try await late
        #expect(transport.sentCount == 7)
    }

    @Test("What was read before is served while the server is down, also after a restart")
    func offlineCache() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let answers: [MockResponse] = [
            .ok(text: "1.08", headers: ["Cache-Control": "max-age=60"]),
            .status(503, headers: ["Retry-After": "100"]),  // too long a wait: no other attempt
        ]
        for (day, answer) in answers.enumerated() {
            let transport = MockTransport { _ in answer }
            let start = Date(timeIntervalSince1970: 1_700_000_000)
            let clock = ManualClock(date: start.addingTimeInterval(80_000 * Double(day)))
            let client = Client(
                baseURL: "https://rates.example.com/", transport: transport,
                stack: makeOfflineClient(folder.path(), transport).stack, timeSource: clock)
            try await expectRate(client, isStored: day == 1)
            #expect(transport.sentCount == 1)
            await client.shutdown()
        }
    }

    // A response that is held would hold up the shutdown.
    private func expectRate(_ client: Client, isStored: Bool) async throws {
        let (text, response) = try await client.get("eur").serialized(with: .string)
        #expect(text == "1.08" && response.head.isStored == isStored)
    }

    @Test("Suggestions are empty while their service is down")
    func fallback() async throws {
        let transport = MockTransport { _ in .status(500) }
        let client = client(transport, makeSuggestionClient(transport).stack)
        #expect(try await client.get("for/7").json() == [])
        #expect(client.stack.lint(for: transport).filter { $0.severity == .error }.isEmpty)
    }

    @Test("A replica that fails costs no call, and is left out after a while")
    func replicas() async throws {
        let (bad, good) = ("10.0.0.1:8443", "10.0.0.2:8443")
        let asked = try await Simulation(seed: 1).run { simulation in
            let transport = MockTransport { request in
                request.options.connectTarget?.description == bad ? .status(503) : .ok(text: "Ada")
            }
            let client = Client(
                transport: transport,
                stack: makeUsersClient(from: .list([bad, good]), transport).stack,
                timeSource: simulation.clock, randomSource: simulation.random)
            for _ in 0..<200 {
                let name = try await client.get("https://users.internal/7").string()
                #expect(name == "Ada")
            }
            return transport.sent.count { $0.request.options.connectTarget?.description == bad }
        }
        #expect(asked > 0 && asked < 20)
    }

    @Test("A path stays at its cache, and few move when a cache goes")
    func cacheFleet() async throws {
        let caches = ["10.0.0.1:443", "10.0.0.2:443", "10.0.0.3:443"]
        var places: [[String]] = []
        for fleet in [caches, caches, Array(caches.dropLast())] {
            let transport = MockTransport { _ in .ok() }
            let client = makeThumbnailClient(from: .list(fleet), transport)
            for number in 0..<60 { try await client.get("thumb/\(number)").empty() }
            places.append(transport.sent.map { "\($0.request.options.connectTarget as Any)" })
        }
        #expect(places[0] == places[1] && Set(places[0]).count == 3)
        let moved = zip(places[0], places[2]).filter { $0 != $1 }
        #expect(Set(moved.map(\.0)).count == 1 && moved.count < 30)
    }

    @Test("Calls that follow one another share a time limit")
    func sharedDeadline() async throws {
        let transport = MockTransport([
            .on(
                .get, "/v1/orders/7",
                MockResponse.ok(json: ["id": 7, "total": 1]).delayed(by: .seconds(3))),
            .on(
                .get, "/v1/orders/7/customer",
                MockResponse.ok(json: ["name": "Ada"]).delayed(by: .seconds(2))),
        ])
        for (limit, expected) in [(6, nil), (4, .deadlineExceeded)]
            as [(Int, ClientError.Code?)]
        {
            let clock = ManualClock()
            let client = client(transport, clock: clock)
            let task = Task { try await overview(7, client, within: .seconds(limit)) }
            try await clock.waitForTimer(in: .seconds(3))
            clock.advance(by: .seconds(3))
            try await clock.waitForTimer(in: .seconds(min(2, limit - 3)))
            clock.advance(by: .seconds(2))
            do {
                let found = try await task.value
                #expect(found.customer["name"] == "Ada" && expected == nil)
            } catch {
                #expect((error as? ClientError)?.code == expected)
            }
        }
    }

    @Test("A newer search ends the one before")
    func newestSearch() async throws {
        let transport = MockTransport([
            .on(
                .get, "/v1/search", where: [.query("q", "a")],
                .ok(text: "").delayed(by: .seconds(60))),
            .on(.get, "/v1/search", where: [.query("q", "ab")], .ok(json: ["found": 1])),
        ])
        let clock = ManualClock()
        let field = SearchField(client(transport, [], clock: clock))
        let first = Task { try await field.results(for: "a") }
        try await clock.waitForTimers(1)
        #expect(try await field.results(for: "ab")["found"] == 1)
        await #expect(throws: CancellationError.self) { try await first.value }
    }

    @Test("A preview reads public pages alone")
    func previews() async throws {
        let transport = MockTransport([
            .on(
                .get, "/page",
                .ok(text: "<title>Mars</title>", headers: ["Content-Type": "text/html"])),
            .on(
                .get, "/inside",
                .status(302, headers: ["Location": "https://169.254.169.254/token"])),
        ])
        let client = Client(
            transport: transport, stack: makePreviewClient(transport).stack)
        #expect(try await preview(of: "https://8.8.8.8/page", client) == "Mars")
        for url in ["https://8.8.8.8/inside", "https://127.1/", "http://8.8.8.8/page", "x:/"] {
            let error = await #expect(throws: ClientError.self) {
                try await preview(of: url, client)
            }
            #expect(error?.code == (url == "x:/" ? .invalidRequest : .urlPolicy), "\(url)")
        }
        #expect(transport.sentCount == 2)
    }
}
