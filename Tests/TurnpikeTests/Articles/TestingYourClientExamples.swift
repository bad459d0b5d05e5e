// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting
import TurnpikeTraffic

@Suite("Testing your client")
struct TestingYourClientExamples {
    @Test("Stubs answer, and what was sent is kept")
    func mock() async throws {
        let transport = MockTransport([
            .on(.post, "/users", where: [.json("name", "Ada")], .status(503), .status(201)),
            .on(.get, "/users/{id}", .ok(json: ["id": 1, "name": "Ada"])),
        ])
        let client = Client(baseURL: "http://a.example/", transport: transport, stack: [])
        for status in [503, 201] {
            let answer = try await client.post("users", body: .json(["name": "Ada"])).response()
            #expect(answer.status.code == status)
        }
        #expect(try await client.get("users/1").json()["id"] == 1)
        let sent = try #require(transport.sent(.post, "/users").last)
        #expect(try sent.json()["name"] == "Ada")
        #expect(sent.request.headers[.contentType] == "application/json")
        try transport.verify()
    }

    @Test("A recording is replayed without its service and credential")
    func cassette() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "turnpike-article-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "users.har")
        let mock = MockTransport { _ in .ok(json: ["id": 1, "name": "Ada"]) }
        let recorder = try CassetteTransport(file: file, mode: .record, transport: mock)
        _ = try await Client(
            baseURL: "https://api.example.com/", transport: recorder, stack: .standard
        ).get("users/1", headers: ["Authorization": "Bearer s3cret-token"]).json()
        let cassette = try CassetteTransport(file: file, mode: .fromEnvironment("CASSETTES"))
        let client = Client(
            baseURL: "https://api.example.com/", transport: cassette, stack: .standard)
        let user = try await client.get("users/1", headers: ["Authorization": "Bearer any"]).json()
        try cassette.verify()
        #expect(user["name"] == "Ada")
        #expect(!String(decoding: try Data(contentsOf: file), as: UTF8.self).contains("s3cret"))
    }

    @Test("Options choose what is hidden, compared and expired")
    func options() {
        let options = CassetteOptions(
            redaction: .standard.adding(query: ["email"]),
            matching: CassetteMatching(ignoring: ["nonce", "sent_at"]),
            expiry: .seconds(90 * 86_400))
        #expect(options.matching.origin && options.repeatsLast)
    }

    @Test("A type that nothing reads can be allowed")
    func allowedTypes() {
        let options = CassetteOptions(allowedTypes: ["application/x-protobuf", "application/yaml"])
        #expect(options.allowedTypes.count == 2)
    }

    @Test("A simulation moves its clock to whichever timer is next")
    func hedge() async throws {
        let transport = MockTransport([
            .any(MockResponse.ok(text: "late").delayed(by: .seconds(9)), .ok(text: "soon"))
        ])
        let (text, elapsed) = try await Simulation(seed: 1).run { simulation in
            let client = Client(
                transport: transport,
                stack: [
                    .deadline(.seconds(30)), .hedge(after: .milliseconds(200)),
                    .attemptTimeout(.seconds(10)),
                ],
                timeSource: simulation.clock, randomSource: simulation.random)
            let text = try await client.get("http://a.example/").string()
            return (text, simulation.elapsed)
        }
        #expect(text == "soon")
        #expect(elapsed == .milliseconds(200))
    }

    @Test("A clock is moved once the code waits for the timer that the test is about")
    func time() async throws {
        let busy = MockResponse.status(503, headers: ["Retry-After": "7"])
        let transport = MockTransport([.any(busy, .ok(text: "fine"))])
        let clock = ManualClock()
        let client = Client(
            transport: transport, stack: [.deadline(.seconds(30)), .retry()], timeSource: clock)
        async let text = client.get("http://a.example/").string()
        try await clock.waitForTimer(in: .seconds(7))  // the wait that the server asks for
        #expect(transport.sentCount == 1)
        clock.advance(by: .seconds(7))
        #expect(try await text == "fine")
    }

    @Test("Faults and a simulation repeat by their seeds")
    func simulation() async throws {
        func run() async throws -> (Duration, Int) {
            let transport = MockTransport { _ in
                MockResponse.ok(text: "fine").delayed(by: .uniform(.zero ... .seconds(1)))
            }
            let faulty = FaultTransport(
                transport, seed: 7,
                [
                    .refuse(share: 0.2), .reset(after: 0...100, share: 0.1),
                    .status(503, share: 1).inBursts(of: .seconds(5), every: .seconds(60)),
                ])
            let elapsed = try await Simulation(seed: 7).run { simulation in
                let client = Client(
                    transport: faulty, stack: .standard, timeSource: simulation.clock,
                    randomSource: simulation.random)
                await withTaskGroup { group in
                    for _ in 0..<100 {
                        group.addTask { _ = try? await client.get("https://a.example/").data() }
                    }
                }
                return simulation.elapsed
            }
            return (elapsed, faulty.events.count)
        }
        let first = try await run()
        #expect(first.1 > 10)
        #expect(first == (try await run()))
    }

    @Test("A server on loopback does as it is told")
    func server() async throws {
        let server = try TestServer()
        server.route("/file", .ranges(of: Data("0123456789".utf8)))
        let client = Client(baseURL: server.target, stack: [])
        let part = try await client.get("file", headers: ["Range": "bytes=2-4"]).string()
        #expect(part == "234")
        #expect(server.counts.peak == 1)
    }

    @Test(arguments: InterceptorConformance.checks)
    func conforms(_ check: InterceptorConformance.Check) async throws {
        try await check.run(on: TenantName(tenant: "blue"))
    }
}
