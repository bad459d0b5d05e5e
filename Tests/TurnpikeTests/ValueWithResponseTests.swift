// SPDX-License-Identifier: Apache-2.0

import Testing
import Turnpike

private struct Person: Decodable, Equatable {
    let name: String
}

@Suite("A value and its response")
struct ValueWithResponseTests {
    private let transport = MockTransport([
        .on(.get, "/user", .ok(json: ["name": "Ada"], headers: ["ETag": "\"1\""])),
        .on(.get, "/bad", .ok(json: ["nme": "Ada"])),
        .on(.get, "/none", .status(404)),
    ])

    private func client(_ stack: Stack = []) -> Client {
        Client(baseURL: "http://a.example/", transport: transport, stack: stack)
    }

    @Test("A call returns the value with the response that it was made of")
    func decoded() async throws {
        let (user, response) = try await client().get("user").decoded(Person.self)
        #expect(user == Person(name: "Ada"))
        #expect(response.headers[.eTag] == "\"1\"")
        #expect(response.attempts == 1)
        #expect(response.timeline.serialized != nil)
        let (text, head) = try await client().get("user").serialized(with: .string)
        #expect(text.contains("Ada") && head.status == .ok)
    }

    @Test("A response whose head was looked at is decoded later")
    func later() async throws {
        let response = try await client().get("user").response()
        #expect(response.status == .ok)
        #expect(try await response.decode(Person.self) == Person(name: "Ada"))
    }

    @Test("An error of a later decoding describes the request and the mismatch")
    func error() async throws {
        let response = try await client().get("bad").response()
        let error = await #expect(throws: ClientError.self) {
            try await response.decode(Person.self)
        }
        #expect(error?.code == .serialization)
        #expect(error?.message.contains("$.name is missing") == true, "\(error?.message ?? "")")
        #expect(error?.request?.method == .get)
        #expect(error?.attempts == 1)
        #expect(error?.response?.status == .ok)
    }

    @Test("The limits of the call hold for a later decoding")
    func limits() async throws {
        let response = try await client([.limits(.init(body: 5))]).get("none").response()
        #expect(response.status == 404)
        let error = await #expect(throws: ClientError.self) {
            let call = client([.limits(.init(body: 5))]).get("user")
            return try await call.response().decode(Person.self)
        }
        #expect(error?.code == .tooLarge)
    }

    @Test("A response of no call is decoded with the standard serializers")
    func own() async throws {
        let response = Response(
            to: Request(.get, "http://a.example/"), status: .ok,
            headers: ["Content-Type": "application/json"],
            body: ResponseBody(.init(#"{"name": "Ada"}"#.utf8)))
        #expect(try await response.decode(Person.self) == Person(name: "Ada"))
    }
}
