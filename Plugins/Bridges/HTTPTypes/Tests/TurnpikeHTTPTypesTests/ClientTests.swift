// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Testing
import Turnpike
import TurnpikeCurl
import TurnpikeHTTPTypes
import TurnpikeTesting

@Suite("Client.send")
struct ClientTests {
    private func get(_ path: String) -> HTTPRequest {
        HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
    }

    @Test("Passes the gates, and returns head, content and trailers")
    func mock() async throws {
        let transport = MockTransport([
            .on(
                .post, "/v1/a",
                .status(503),
                .ok(text: "hello", headers: ["Set-Cookie": "a=1"]).followed(by: ["X-Sum": "5"]))
        ])
        let client = Client(
            baseURL: "https://api.example.com/v1", transport: transport,
            stack: [Retry(attempts: 2, backoff: .constant(.zero))])
        var request = get("/a")
        request.method = .post
        request.headerFields[try #require(HTTPField.Name("Idempotency-Key"))] = "1"
        let (response, body) = try await client.send(request, body: .text("x"))
        #expect(response.status.code == 200)
        #expect(try await body.collect(upTo: 100) == Data("hello".utf8))
        let trailers = try HTTPFields(body.trailers)
        #expect(trailers[try #require(HTTPField.Name("X-Sum"))] == "5")
        #expect(transport.sent.count == 2)
    }

    @Test(
        "Sends a relative request below the base URL",
        arguments: [
            ("/users/1", "/v1/users/1"), ("/", "/v1/"), ("/?q=1", "/v1/?q=1"), ("//x", "/v1//x"),
            ("/a:b", "/v1/a:b"), ("/https://h/", "/v1/https://h/"),
        ])
    func below(_ path: String, _ sent: String) async throws {
        let transport = MockTransport { request in .ok(text: request.targetURI.absoluteForm) }
        for base in ["https://api.example.com/v1", "https://api.example.com/v1/"] {
            let client = Client(baseURL: Target(base), transport: transport, stack: [])
            let (_, body) = try await client.send(get(path))
            let told = try await body.collect(upTo: 1_000)
            #expect(told == Data("https://api.example.com\(sent)".utf8))

            let bare = Client(transport: transport, stack: [])
            let url = try #require(URL(string: base))
            let (_, other) = try await bare.send(get(path), baseURL: url)
            #expect(try await other.collect(upTo: 1_000) == told)
        }
    }

    @Test("Asks the server as a whole, and needs a base URL for a relative request")
    func server() async throws {
        let transport = MockTransport { request in .ok(text: "\(request.asksServer)") }
        let client = Client(baseURL: "https://h/v1/", transport: transport, stack: [])
        let request = HTTPRequest(method: .options, scheme: nil, authority: nil, path: "*")
        let (_, body) = try await client.send(request)
        #expect(try await body.collect(upTo: 10) == Data("true".utf8))
        let bare = Client(transport: transport, stack: [])
        await #expect(throws: ClientError.self) { try await bare.send(get("/a")) }
        #expect(transport.sent.count == 1)
    }

    @Test("Reports a head that HTTPResponse cannot hold")
    func badHead() async throws {
        let client = Client(
            transport: MockTransport { _ in .status(HTTPStatus(1_000)) }, stack: [])
        let request = HTTPRequest(
            method: .get, scheme: "https", authority: "example.com", path: "/")
        let error = await #expect(throws: ClientError.self) { try await client.send(request) }
        #expect(error?.code == .protocol)
        #expect(client.runningCallCount == 0)
    }

    @Test("Streams both ways over a socket, with trailers both ways")
    func loopback() async throws {
        let server = try TestServer()
        server.route(
            "/a",
            .handler { request in
                let chunks = [Data(request.body.prefix(3)), Data(request.body.dropFirst(3))]
                return .chunked(
                    chunks, headers: ["Set-Cookie": "a=1"], trailers: request.trailers)
            })
        let transport = try CurlTransport()
        let client = Client(baseURL: server.target, transport: transport, stack: [.deadline()])
        let field = HTTPField(name: try #require(HTTPField.Name("X-Sum")), value: "7")
        let content = RequestBody.stream {
            AsyncStream { continuation in
                for word in ["one", " two"] { continuation.yield(Data(word.utf8)) }
                continuation.finish()
            }
        }
        var request = get("/a?q=%20")
        request.method = .post
        let (response, body) = try await client.send(
            request, body: content.followed(by: HTTPHeaders(HTTPFields([field]))))
        var text = Data()
        for try await chunk in body { text += chunk }
        #expect(response.status == .ok)
        #expect(text == Data("one two".utf8))
        #expect(server.requests.map(\.target) == ["/a?q=%20"])
        #expect(try HTTPFields(body.trailers)[field.name] == "7")
        await client.shutdown()
    }

    @Test("Ends when its task is cancelled, before the head and in the content")
    func cancellation() async throws {
        let server = try TestServer()
        server.route("/silence", .silence)
        server.route("/endless", .endless())
        let transport = try CurlTransport()
        let client = Client(baseURL: server.target, transport: transport, stack: [])

        let early = Task { try await client.send(get("/silence")).0 }
        try await server.waitForRequests(1)
        early.cancel()
        await #expect(throws: CancellationError.self) { try await early.value }

        let (pulled, hasPulled) = AsyncStream<Void>.makeStream()
        let late = Task {
            let (_, body) = try await client.send(get("/endless"))
            for try await _ in body { hasPulled.yield() }
        }
        for await _ in pulled { break }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }

        // The transfer of an unread body ends with the last reference to the body.
        var dropped: ResponseBody? = try await client.send(get("/endless")).1
        #expect(dropped != nil)
        dropped = nil
        try await server.wait { $0.open == 0 }
        #expect(client.runningCallCount == 0)
        await client.shutdown()
    }
}
