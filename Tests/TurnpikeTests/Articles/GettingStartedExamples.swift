// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

struct Planet: Codable, Sendable, Equatable {
    var name: String
    var moons: Int
}

@Suite("Getting started")
struct GettingStartedExamples {
    private let mars: JSONValue = ["name": "Mars", "moons": 2]

    private func makeClient() -> Client {
        let client = Client(baseURL: "https://api.example.com/v1/")
        return client
    }

    private func client(_ stubs: MockStub...) -> Client {
        Client(
            baseURL: "http://test.example/v1/", transport: MockTransport(stubs), stack: .standard)
    }

    @Test("Requests are sent and answered")
    func send() async throws {
        #expect(makeClient().stack.gates.count == Stack.standard.gates.count)
        let client = client(
            .on(.get, "/v1/planets/3", .ok(json: mars)), .on(.get, "/v1/search", .ok(text: "two")),
            .on(.post, "/v1/planets", .status(201)))
        let planet = try await client.get("planets/3").decode(Planet.self)
        let page = try await client.get("search", query: ["q": "ring", "tags": ["gas", "ice"]])
            .string()
        try await client.post("planets", json: planet).validate(status: [201]).empty()
        #expect(page == "two")
    }

    @Test("A value comes with its response")
    func decoded() async throws {
        let client = client(
            .on(.get, "/v1/planets/3", .ok(json: mars, headers: ["ETag": "\"1\""])))
        let (planet, response) = try await client.get("planets/3").decoded(Planet.self)
        let tag = response.headers[.eTag]
        #expect(planet.name == "Mars" && tag == "\"1\"")
    }

    private struct Found: Decodable {
        let cursor: String?
    }

    @Test("Pages are read one after another")
    func pages() async throws {
        let client = client(
            .on(
                .get, "/v1/planets",
                .ok(json: [mars, mars], headers: ["Link": "<planets/2>; rel=\"next\""])),
            .on(.get, "/v1/planets/2", .ok(json: [mars])),
            .on(.get, "/v1/search", .ok(json: ["cursor": "a"]), .ok(json: ["cursor": nil])))
        var moons = 0
        for try await planets in client.get("planets").pages(of: [Planet].self) {
            moons += planets.reduce(0) { $0 + $1.moons }
        }
        #expect(moons == 6)
        let pages = client.get("search", query: ["q": "ring"]).pages(of: Found.self) { found, _ in
            found.cursor.map { .query(["cursor": .init($0)]) }
        }
        var cursors: [String?] = []
        for try await found in pages { cursors.append(found.cursor) }
        #expect(cursors == ["a", nil])
    }

    private struct Refusal: Decodable {
        let reason: String
    }

    private func reason(_ client: Client, _ planet: Planet) async throws -> String? {
        do {
            try await client.post("planets", json: planet).empty()
        } catch let error as ClientError {
            if let problem = error.problem {
                return problem.detail ?? problem.title ?? problem.type
            }
            return try error.decode(Refusal.self).reason
        }
        return nil
    }

    @Test("What the server says of a failure is read")
    func reasons() async throws {
        let type: HTTPHeaders = ["Content-Type": "application/problem+json"]
        let client = client(
            .on(
                .post, "/v1/planets", .status(422, json: ["title": "Too many"], headers: type),
                .status(409, json: ["reason": "It is known"])))
        let planet = Planet(name: "Mars", moons: 2)
        #expect(try await reason(client, planet) == "Too many")
        #expect(try await reason(client, planet) == "It is known")
    }

    @Test("A body is read as it comes")
    func body() async throws {
        let client = client(.any(.stream([Data(count: 3), Data(count: 4)])))
        let response = try await client.get("maps/3").response()
        var count = 0
        for try await chunk in response.body {
            count += chunk.count
        }
        #expect(count == 7)
    }

    private func planet(_ client: Client, orElse cached: Planet) async throws -> Planet? {
        do {
            return try await client.get("planets/9").decode(Planet.self)
        } catch let error as ClientError where error.response?.status == .notFound {
            return nil
        } catch ClientError.Code.deadlineExceeded {
            return cached
        }
    }

    @Test("A failure has a code and a response")
    func failure() async throws {
        let old = Planet(name: "Pluto", moons: 5)
        #expect(try await planet(client(.any(.status(404))), orElse: old) == nil)
        let late = ClientError(.deadlineExceeded, "late")
        #expect(try await planet(client(.any(.failure(late))), orElse: old) == old)
        let error = await #expect(throws: ClientError.self) {
            try await planet(client(.any(.status(403))), orElse: old)
        }
        #expect(error?.code == .validation)
    }

    private struct Visit: Codable, Equatable {
        var visitedAt: Date
    }

    private let base: Target = "http://test.example/v1/"
    private let decoder = JSONValueDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        return decoder
    }

    private func visit(_ client: Client) async throws -> Visit {
        let visit = try await client.get("visits/1").decode(Visit.self, with: decoder)
        return visit
    }

    @Test("A decoder is one call's, or the client's")
    func decoders() async throws {
        let transport = MockTransport([
            .on(.get, "/v1/visits/1", .ok(json: ["visited_at": 60])),
            .on(.get, "/v1/visits/2", .status(409, json: ["visited_at": 60])),
        ])
        let expected = Visit(visitedAt: Date(timeIntervalSince1970: 60))
        #expect(try await visit(Client(baseURL: base, transport: transport)) == expected)
        var serializers = SerializerTable.standard
        serializers.register(decoder, as: "visits", for: [.json])
        let client = Client(
            baseURL: "https://api.example.com/v1/", transport: transport, stack: .standard,
            serializers: serializers)
        #expect(try await client.get("visits/1").decode(Visit.self) == expected)
        do {
            try await client.get("visits/2").empty()
            Issue.record("a conflict is an error")
        } catch let error as ClientError {
            #expect(try error.decode(Visit.self, using: serializers) == expected)
            let mismatch = #expect(throws: ClientError.self) { try error.decode(Visit.self) }
            #expect(mismatch?.code == .serialization)
        }
    }

    @Test("A handle has progress and a value")
    func handle() async throws {
        let client = client(.any(.stream([Data(count: 3), Data(count: 4)])))
        let running = client.get("maps/3").start(.data)
        for await progress in running.progress {
            print(progress.bytesReceived)
        }
        let map = try await running.value
        #expect(map.count == 7)
    }

    @Test("A mock and a simulation need neither network nor time")
    func mock() async throws {
        let transport = MockTransport([.any(.status(503), .ok(json: ["name": "Mars", "moons": 2]))])
        let planet = try await Simulation(seed: 1).run { simulation in
            let client = Client(
                baseURL: "http://test.example/", transport: transport, stack: .standard,
                timeSource: simulation.clock, randomSource: simulation.random)
            return try await client.get("planets/4").decode(Planet.self)
        }
        #expect(planet == Planet(name: "Mars", moons: 2))
        #expect(transport.sentCount == 2)
    }
}
