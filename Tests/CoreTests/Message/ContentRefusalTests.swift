// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Content of a response that must have none")
struct ContentRefusalTests {
    private struct Bytes: ContentSerializer {
        var emptyOutput: Int? { 0 }
        func serialize(_ content: Data, of head: ResponseHead) -> Int { content.count }
    }

    private func read(_ method: HTTPMethod, _ response: MockResponse) async throws -> Int {
        let client = Client(
            transport: MockTransport { _ in response }, stack: [], serializers: SerializerTable())
        return try await client.request(method, "http://a.example/").serialize(with: Bytes())
    }

    @Test(
        "The content is refused when it is read",
        arguments: [
            (HTTPMethod.get, MockResponse.status(205, body: Data("x".utf8))),
            (.post, .stream([Data("x".utf8)], status: 205)), (.head, .stream([Data("x".utf8)])),
            (.get, .stream([Data("x".utf8)], status: 204)),
            (.get, .stream([Data("x".utf8)], status: 304)),
        ])
    func refused(method: HTTPMethod, response: MockResponse) async {
        let error = await #expect(throws: ClientError.self) { try await read(method, response) }
        #expect(error?.code == .protocol)
        #expect(error?.message.contains("has content, which HTTP does not allow") == true)
        #expect(error?.response?.status == response.status && error?.request?.method == method)
    }

    @Test("A response without content is accepted")
    func nothing() async throws {
        for status: HTTPStatus in [204, 205] {
            #expect(try await read(.get, .status(status)) == 0)
            #expect(try await read(.get, .stream([], status: status)) == 0)
        }
        #expect(try await read(.head, .status(200, body: Data("x".utf8))) == 0)
    }
}
