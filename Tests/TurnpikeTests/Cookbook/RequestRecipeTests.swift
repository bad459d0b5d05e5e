// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@Suite("Cookbook: requests")
struct RequestRecipeTests {
    private func client(
        _ transport: MockTransport, clock: any TimeSource = SystemTimeSource()
    ) -> Client {
        Client(
            baseURL: "https://api.example.com/v1/", transport: transport, timeSource: clock)
    }

    private func order(_ id: Int, _ total: Int) -> JSONValue {
        ["id": .number(JSONNumber(id)), "total": .number(JSONNumber(total))]
    }

    @Test("Pages follow the links of the server")
    func linkedPages() async throws {
        let link: HTTPHeaders = ["Link": "</v1/orders?state=open&page=2>; rel=\"next\""]
        let transport = MockTransport { [order] request in
            request.targetURI.originForm.contains("page=2")
                ? .ok(json: [order(3, 30)])
                : .ok(json: [order(1, 10), order(2, 20)], headers: link)
        }
        #expect(try await openTotal(client(transport)) == 60)
        #expect(transport.sentCount == 2)
    }

    @Test("Pages follow a cursor, and no page is requested that nobody reads")
    func cursorPages() async throws {
        let transport = MockTransport([
            .on(
                .get, "/v1/search", where: [.query("cursor", "b")],
                .ok(json: ["orders": [order(3, 1)], "nextCursor": "c"])),
            .on(
                .get, "/v1/search",
                .ok(json: ["orders": [order(1, 1), order(2, 1)], "nextCursor": "b"])),
        ])
        let found = try await search(client(transport), "a b", upTo: 3)
        #expect(found.map(\.id) == [1, 2, 3])
        #expect(transport.sentCount == 2)
    }

    @Test("A refusal with problem details is a value, and any other one an error")
    func problem() async throws {
        let transport = MockTransport([
            .any(
                .status(
                    403,
                    json: [
                        "type": "https://api.example.com/problems/out-of-credit",
                        "title": "You do not have enough credit.", "balance": 30,
                    ], headers: ["Content-Type": "application/problem+json"]),
                .status(201), .status(403))
        ])
        let client = client(transport), order = Order(id: 1, total: 50)
        #expect(try await pay(client, order) == .refused(missing: 20))
        #expect(try await pay(client, order) == .accepted)
        let error = await #expect(throws: ClientError.self) { try await pay(client, order) }
        #expect(error?.response?.status == 403)
    }

    @Test("A change that another one has overtaken is made of what is there then")
    func conditionalUpdate() async throws {
        let transport = MockTransport([
            .on(
                .get, "/v1/orders/7", .ok(json: order(7, 10), headers: ["ETag": "\"a\""]),
                .ok(json: order(7, 20), headers: ["ETag": "\"b\""])),
            .on(.put, "/v1/orders/7", where: [.header("If-Match", "\"b\"")], .status(204)),
            .on(.put, "/v1/orders/7", .status(412)),
        ])
        let stored = try await update(client(transport), 7) { $0.total += 5 }
        #expect(stored == Order(id: 7, total: 25))
        #expect(try transport.sent(.put, "/v1/orders/7").last?.json() == order(7, 25))
        #expect(transport.sentCount == 4)
    }

    @Test("A change that is always overtaken ends, and one without a version is not made")
    func conditionalUpdateFails() async throws {
        let transport = MockTransport([
            .on(.get, "/v1/orders/7", .ok(json: order(7, 10), headers: ["ETag": "\"a\""])),
            .on(.put, "/v1/orders/7", .status(412)),
            .on(.get, "/v1/orders/8", .ok(json: order(8, 10))),
        ])
        for (id, count) in [(7, 6), (8, 7)] {
            let error = await #expect(throws: ClientError.self) {
                _ = try await update(client(transport), id) { $0.total += 5 }
            }
            #expect(error?.code == .validation)
            #expect(transport.sentCount == count)
        }
    }

    @Test("A job is asked for again when the server says so")
    func poll() async throws {
        let transport = MockTransport([
            .on(
                .get, "/v1/jobs/7", .status(202, headers: ["Retry-After": "7"]), .status(202),
                .ok(json: ["result": "done"]))
        ])
        let clock = ManualClock()
        async let job = result(of: client(transport, clock: clock).get("jobs/7"))
        for wait in [Duration.seconds(7), .seconds(2)] {
            try await clock.waitForTimer(in: wait)
            clock.advance(by: wait)
        }
        #expect(try await job == Job(result: "done"))
    }

    @Test("A job that never ends is given up")
    func pollEnds() async throws {
        let transport = MockTransport([.any(.status(202, headers: ["Retry-After": "0"]))])
        await #expect {
            try await result(of: client(transport).get("jobs/7"), looks: 3)
        } throws: {
            ClientError.Code.deadlineExceeded ~= $0
        }
        #expect(transport.sentCount == 3)
    }

    @Test("A batch has a result for each element, and few calls at a time")
    func batch() async throws {
        let server = try TestServer()
        let hold = TestHold()
        server.fallback(
            .handler { request in
                let id = Int(request.path.split(separator: "/").last ?? "") ?? 0
                return id == 4
                    ? .status(404) : .ok(json: ["id": .number(JSONNumber(id)), "total": 1])
            }.held(by: hold))
        let client = Client(baseURL: server.target)
        async let results = fetchAll(Array(1...9), client, width: 3)
        try await server.waitForRequests(3)
        hold.open()
        let all = await results
        #expect(all.count == 9)
        #expect(try all[9]?.get() == Order(id: 9, total: 1))
        let error = #expect(throws: ClientError.self) { try all[4]?.get() }
        #expect(error?.code == .validation)
        #expect(server.counts.peakInFlight == 3)
    }

    @Test("A query of GraphQL is retried, a mutation is not, and errors with a 200 are errors")
    func graphQL() async throws {
        let answers: [MockResponse] = [
            .status(502), .ok(json: ["data": ["id": 7, "total": 1]]), .status(502),
            .ok(json: ["errors": [["message": "no such order"]], "data": nil]),
        ]
        let transport = MockTransport([MockStub(answers) { _ in true }])
        let client = Client(
            baseURL: "https://api.example.com/v1/", transport: transport,
            stack: [.validate(), .retry(backoff: .constant(.zero))])
        let query = "query($id: Int!) { order(id: $id) { id total } }"
        #expect(try await ask(client, query, ["id": 7], of: Order.self).id == 7)
        #expect(try transport.sent.last?.json()["variables"]?["id"] == 7)
        let refused = await #expect(throws: ClientError.self) {
            try await ask(client, "mutation { pay { id total } }", of: Order.self)
        }
        #expect(refused?.code == .validation)
        #expect(transport.sentCount == 3)
        let error = await #expect(throws: ClientError.self) {
            try await ask(client, query, ["id": 8], of: Order.self)
        }
        #expect(error?.message.contains("no such order") == true)
    }

    @Test("Titles of a feed are read, and a document type is refused")
    func feed() async throws {
        let text = "<rss><channel><item><title>A &amp; B</title></item><item/></channel></rss>"
        let xml: HTTPHeaders = ["Content-Type": "application/rss+xml"]
        let transport = MockTransport([
            .any(
                .ok(text: text, headers: xml),
                .ok(text: "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", headers: xml))
        ])
        #expect(try await headlines(client(transport)) == ["A & B"])
        let error = await #expect(throws: ClientError.self) {
            try await headlines(client(transport))
        }
        #expect(error?.code == .serialization)
    }

    private struct Visit: Decodable, Sendable, Equatable {
        var visitedAt: Date
    }

    @Test("A decoder of one's own decodes each answer of the client")
    func decoder() async throws {
        let transport = MockTransport { _ in .ok(json: ["visited_at": 60]) }
        let client = makeSnakeCaseClient(transport)
        let visit = try await client.get("visits/1").decode(Visit.self)
        #expect(visit == Visit(visitedAt: Date(timeIntervalSince1970: 60)))
    }
}
