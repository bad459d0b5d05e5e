// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Testing
import Turnpike
import TurnpikeHTTPTypes
import TurnpikeTesting

// These types are like `ClientTransport` and `HTTPBody` in OpenAPIRuntime.
protocol ClientTransport: Sendable {
    func send(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?)
}

struct HTTPBody: AsyncSequence, Sendable {
    typealias Element = ArraySlice<UInt8>

    let make: @Sendable () -> any AsyncSequence<Element, any Error> & Sendable

    struct AsyncIterator: AsyncIteratorProtocol {
        var inner: any AsyncIteratorProtocol<Element, any Error>
        mutating func next() async throws -> Element? {
            try await inner.next(isolation: #isolation)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(inner: start(make())) }

    private func start(
        _ sequence: some AsyncSequence<Element, any Error>
    ) -> any AsyncIteratorProtocol<Element, any Error> { sequence.makeAsyncIterator() }
}

struct TurnpikeTransport: ClientTransport {
    let client: Client

    func send(
        _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let content = body.map { body in RequestBody.stream { body.map { Data($0) } } }
        let (response, received) = try await client.send(
            request, body: content ?? .empty, baseURL: baseURL)
        return (response, HTTPBody { received.map { ArraySlice($0) } })
    }
}

@Suite("A generated client")
struct GeneratedClientTests {
    @Test("Sends and reads streams through a transport of ten lines")
    func adapter() async throws {
        let server = try TestServer()
        server.route(
            "/v1/echo",
            .handler { .chunked([$0.body, Data("!".utf8)], headers: ["X-Method": "\($0.method)"]) })
        let client = Client(stack: [.validate()])
        let transport: any ClientTransport = TurnpikeTransport(client: client)
        let body = HTTPBody {
            AsyncThrowingStream { continuation in
                for word in ["one ", "two"] { continuation.yield(ArraySlice(word.utf8)) }
                continuation.finish()
            }
        }
        let (response, content) = try await transport.send(
            HTTPRequest(method: .put, scheme: nil, authority: nil, path: "/echo"), body: body,
            baseURL: server.url.appending(path: "v1"), operationID: "echo")
        var text = ""
        for try await bytes in try #require(content) {
            text += String(decoding: bytes, as: UTF8.self)
        }
        #expect(response.status == .ok)
        #expect(try response.headerFields[#require(HTTPField.Name("X-Method"))] == "PUT")
        #expect(text == "one two!")
        await client.shutdown()
    }
}
