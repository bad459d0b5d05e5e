// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeStackFiles

private struct Rejection: Decodable, Equatable {
    let reason: String
}

@Suite("What a server says of a failure")
struct ServerErrorsTests {
    private func error(
        _ response: MockResponse, _ stack: Stack = [.validate()]
    ) async -> ClientError? {
        let client = Client(
            baseURL: "http://a.example/", transport: MockTransport([.any(response)]), stack: stack)
        return await #expect(throws: ClientError.self) {
            try await client.post("orders").data()
        }
    }

    private func problem(
        _ members: JSONValue, type: String = "application/problem+json"
    ) -> MockResponse {
        .status(422, json: members, headers: ["Content-Type": type])
    }

    @Test("Problem details are read and shown, with the server's extensions")
    func problems() async throws {
        let error = await error(
            problem([
                "type": "https://a.example/credit", "title": "Not enough credit", "status": 422,
                "detail": "The balance is 30, and the order costs 50.", "instance": "/orders/7",
                "balance": 30,
            ]))
        let problem = try #require(error?.problem)
        #expect(problem.type == "https://a.example/credit")
        #expect(problem.title == "Not enough credit" && problem.status == 422)
        #expect(problem.instance == "/orders/7")
        #expect(problem.members["balance"]?.int == 30)
        let expected =
            "[problem: Not enough credit: The balance is 30, and the order costs 50.]"
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
    }

    @Test("A member of another type is ignored, and a problem without words shows its type")
    func sparse() async throws {
        let error = await error(problem(["title": 3, "status": "422", "detail": ["a"]]))
        let problem = try #require(error?.problem)
        #expect(problem.title == nil && problem.status == nil && problem.detail == nil)
        #expect(problem.type == "about:blank" && problem.description == "about:blank")
    }

    @Test(
        "Content of another type, or none of JSON's objects, is no problem",
        arguments: [
            MockResponse.status(
                422, json: ["title": "x"], headers: ["Content-Type": "application/json"]),
            .status(422, json: [1], headers: ["Content-Type": "application/problem+json"]),
            .status(422, headers: ["Content-Type": "application/problem+json"]),
        ])
    func none(response: MockResponse) async {
        let error = await error(response)
        #expect(error?.code == .validation && error?.problem == nil)
        #expect(error?.description.contains("problem:") == false)
    }

    @Test("A secret in the words of the server is hidden, and so are control characters")
    func secrets() async throws {
        let error = await error(
            problem(["title": "Bad\u{1B}[2J", "detail": "the token Bearer abcdef0123456789 is old"])
        )
        let text = try #require(error?.description)
        #expect(text.contains("[problem: Bad"))
        #expect(!text.contains("abcdef0123456789") && !text.contains("\u{1B}"))
    }

    @Test("An API's own form of an error is decoded")
    func decode() async throws {
        let error = await error(problem(["reason": "late"], type: "application/json"))
        #expect(try error?.decode(Rejection.self) == Rejection(reason: "late"))
        let wrong = #expect(throws: ClientError.self) { try error?.decode([Int].self) }
        #expect(wrong?.code == .serialization)
    }

    @Test("An error without content has nothing to decode")
    func nothing() async {
        let error = await error(.status(500))
        #expect(error?.isResponseBodyCut == false)
        let fault = #expect(throws: ClientError.self) { try error?.decode(Rejection.self) }
        #expect(fault?.message.contains("no content") == true)
    }

    @Test(
        "As much content is kept as the gate says, and what is cut is said to be",
        arguments: [
            (4095, 4096, false), (4096, 4096, false), (4097, 4096, true), (200_000, 100_000, true),
        ])
    func kept(size: Int, keptBytes: Int, isCut: Bool) async {
        let content = Data(repeating: 0x20, count: size - 2) + Data("{}".utf8)
        let response = MockResponse.status(
            500, headers: ["Content-Type": "application/problem+json"], body: content)
        let error = await error(response, [.validate(keptBytes: keptBytes)])
        #expect(error?.responseBody.count == min(size, keptBytes))
        #expect(error?.isResponseBodyCut == isCut)
        #expect((error?.problem == nil) == isCut)
        if isCut {
            let fault = #expect(throws: ClientError.self) { try error?.decode(Rejection.self) }
            #expect(fault?.message.contains("keptBytes") == true)
        }
    }

    @Test("A call keeps as much as it says, and a stack file can say it")
    func settings() async throws {
        let content = Data(count: 6000)
        let transport = MockTransport([.any(.status(500, body: content))])
        let client = Client(transport: transport, stack: [.validate()])
        let error = await #expect(throws: ClientError.self) {
            try await client.get("http://a.example/").validate(keptBytes: 5000).data()
        }
        #expect(error?.responseBody.count == 5000)
        let file =
            #"{"transport": {"use": "mock", "responses": [{"status": 500, "text": "abcdef"}]}, "#
            + #""stack": [{"use": "validate", "keptBytes": 3}]}"#
        let configured = try ConfiguredClient(StackFile(parsing: Data(file.utf8))).client
        let other = await #expect(throws: ClientError.self) {
            try await configured.get("http://a.example/").data()
        }
        #expect(other?.responseBody == Data("abc".utf8) && other?.isResponseBodyCut == true)
    }
}
