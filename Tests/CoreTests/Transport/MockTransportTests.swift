// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("MockTransport")
struct MockTransportTests {
    @Test(
        "Path patterns",
        arguments: [
            ("/users/{id}", "/users/a%20b", ["id": "a b"]), ("/users/{id}", "/users/", nil),
            ("/users/{id}", "/users/1/x", nil), ("/*/x", "/anything/x", [:]),
            ("/files/**", "/files/a/b/c", [:]), ("/files/**", "/files", [:]),
            ("/files/**", "/files/", [:]), ("/a", "/A", nil), ("", "/", nil),
            ("/{a}/{b}", "/1/2", ["a": "1", "b": "2"]),
        ] as [(PathPattern, String, [String: String]?)])
    func patterns(pattern: PathPattern, path: String, found: [String: String]?) {
        #expect(pattern.match(path) == found)
    }

    @Test("The first stub that fits method, path, query, header and content responds")
    func matching() async throws {
        let transport = MockTransport([
            .on(.get, "/search", where: [.query("q", "swift")], .status(201)),
            .on(.get, "/search", where: [.header(.accept, "text/csv")], .status(202)),
            .on(.post, "/users", where: [.json("user.name", "Ada")], .status(203)),
            .on(.post, "/users", where: [.json(["a": [1, 2]])], .status(204)),
            .otherwise(.status(404)),
        ])
        let client = Client(transport)
        func status(_ request: Request) async throws -> HTTPStatus {
            try await client.request(request).response().status
        }
        let base = "http://a.example"
        #expect(try await status(Request(.get, "\(base)/search?p=1&q=swift")) == 201)
        #expect(
            try await status(Request(.get, "\(base)/search?q=c", headers: ["Accept": "text/csv"]))
                == 202)
        #expect(
            try await status(
                Request(
                    .post, "\(base)/users", body: .json(["user": ["name": "Ada", "x": true]])))
                == 203)
        #expect(
            try await status(Request(.post, "\(base)/users", body: .text(#"{ "a" : [1,2] }"#)))
                == 204)
        #expect(try await status(Request(.post, "\(base)/users", body: .text("[]"))) == 404)
    }

    @Test("A stub with a limited number of responses leaves the rest to the next one")
    func times() async throws {
        let transport = MockTransport([
            MockStub.on(.get, "/x", .status(500), .status(501)).times(3),
            .any(.status(200)),
        ])
        let client = Client(transport)
        var statuses: [HTTPStatus] = []
        for _ in 0..<5 { statuses.append(try await client.get(anywhere).response().status) }
        #expect(statuses == [500, 501, 501, 200, 200])
    }

    @Test("A request that matches no stub fails with the difference from the nearest one")
    func strict() async throws {
        let transport = MockTransport([
            .on(.delete, "/y", .status(200)),
            .on(.post, "/x", where: [.header("X-Api-Key", "right"), .json("a", 1)], .status(200)),
        ])
        let client = Client(transport)
        let error = await #expect(throws: ClientError.self) {
            try await client.post(
                anywhere, body: .text(#"{"a":2}"#), headers: ["X-Api-Key": "hidden-value"]
            ).response()
        }
        #expect(error?.code == .unsupported)
        let message = try #require(error?.message)
        #expect(message.contains("POST /x") && message.contains("differs at a"), "\(message)")
        #expect(message.contains("X-Api-Key") && !message.contains("hidden-value"))
        #expect(transport.unmatched == [message])
        #expect(transport.unused == ["DELETE /y", "POST /x header X-Api-Key JSON content with a"])
        expectError(.unsupported) { try transport.verify() }
    }

    @Test("Sent requests can be found by route, with their content decoded")
    func assertions() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport)
        _ = try await client.get("http://a.example/users/7").response()
        _ = try await client.post(
            "http://a.example/users/7", body: .json(["name": "Ada"])
        ).response()
        let post = try #require(transport.sent(.post, "/users/{id}").first)
        #expect(try post.json()["name"] == "Ada")
        #expect(post.parameters(of: "/users/{id}") == ["id": "7"])
        #expect(try post.decode([String: String].self) == ["name": "Ada"])
        _ = try await client.post("http://a.example/f", body: .text("a=1+2&b=%26&c")).response()
        let form = try #require(transport.sent.last).form
        #expect(form.map(\.name) == ["a", "b", "c"] && form.map(\.value) == ["1 2", "&", ""])
        try transport.verify()
    }

    @Test("Latencies follow their distribution, with the call's clock and random numbers")
    func latencies() {
        #expect(MockLatency.uniform(.seconds(1) ... .seconds(3)).at(share: 0.5) == .seconds(2))
        #expect(MockLatency.constant(.seconds(4)).at(share: 0.9) == .seconds(4))
        let service = MockLatency.logNormal(median: .milliseconds(20), p99: .milliseconds(400))
        #expect(abs(service.at(share: 0.5) / .milliseconds(20) - 1) < 0.01)
        #expect(abs(service.at(share: 0.99) / .milliseconds(400) - 1) < 0.01)
        let waiting = MockLatency.exponential(mean: .seconds(1))
        #expect(abs(waiting.at(share: 0.632_120_6) / .seconds(1) - 1) < 0.001)
        #expect(waiting.at(share: 0) == .zero)
        #expect(MockLatency.logNormal(median: .zero, p99: .seconds(1)).at(share: 0.9) == .zero)
    }

    @Test(
        "Faults have their phase",
        arguments: [
            (.hostNotFound, .dns, true), (.connectionRefused, .connection, true),
            (.connectTimeout, .connectTimeout, true), (.handshakeFailed, .tls, true),
            (.connectionLost, .connection, false), (.lostInHead, .connection, false),
            (.cut(after: Data("ab".utf8), of: 5), .incomplete, false),
        ] as [(MockResponse, ClientError.Code, Bool)])
    func faults(answer: MockResponse, code: ClientError.Code, isUnsent: Bool) async throws {
        let client = Client(MockTransport { _ in answer })
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).serialize(with: Text())
        }
        #expect(error?.code == code)
        #expect(error?.transfer?.isUnsent == isUnsent)
    }

    @Test("A matcher compares bytes, not looks")
    func canonicalEquivalence() throws {
        let request = Request(
            .get, "http://a.example/?name=Jose%CC%81&Jos%C3%A9=1", headers: ["X-A": "e\u{301}"])
        #expect(RequestMatcher.header("X-A", "\u{E9}").mismatch(request) != nil)
        #expect(RequestMatcher.header("X-A", "e\u{301}").mismatch(request) == nil)
        #expect(RequestMatcher.query("name", "Jos\u{E9}").mismatch(request) != nil)
        #expect(RequestMatcher.query("name", "Jose\u{301}").mismatch(request) == nil)
        #expect(RequestMatcher.query("Jose\u{301}").mismatch(request) != nil)
        let body = Data("{\"a\":{\"\u{301}b\":\"e\u{301}\"}}".utf8)
        #expect(RequestMatcher.json("a.\u{301}b", "e\u{301}").mismatch(request, body: body) == nil)
        #expect(RequestMatcher.json("a.\u{301}b", "\u{E9}").mismatch(request, body: body) != nil)
    }

    @Test("A sent form is parsed by bytes, and may have an empty name")
    func form() async throws {
        let transport = MockTransport { _ in .ok() }
        let body = RequestBody.data(Data("a=\u{301}b&\u{301}c=d+&=e".utf8), type: .form)
        _ = try await Client(transport).post("http://a.example/", body: body).response()
        let form = try #require(transport.sent.first?.form)
        #expect(form.map(\.name) == ["a", "\u{301}c", ""])
        #expect(form.map(\.value) == ["\u{301}b", "d ", "e"])
    }

    @Test("A failing body is the same error as with other transports", arguments: [0, 1, 2])
    func failingBody(kind: Int) async throws {
        struct Broken: Error {}
        let errors: [any Error] = [
            Broken(), CancellationError(), ClientError(.tooLarge, "it is too large"),
        ]
        let transport = MockTransport { _ in .ok() }
        let body = RequestBody.stream {
            AsyncThrowingStream<Data, any Error> { $0.finish(throwing: errors[kind]) }
        }
        let error = await #expect(throws: ClientError.self) {
            try await Client(transport).post("http://a.example/", body: body).response()
        }
        #expect(error?.code == (kind == 2 ? .tooLarge : .upload))
        if kind == 0 { #expect(error?.underlying is Broken) }
        #expect(transport.sentCount == 0)
    }
}
