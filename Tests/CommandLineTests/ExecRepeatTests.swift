// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@Suite("Repetitions of an exec line")
struct ExecRepeatTests {
    private let server: TestServer

    init() throws { server = try TestServer() }

    private func run(_ path: String, _ more: JSONObject) async -> JSONValue {
        var line: JSONObject = [
            "request": ["url": .string(server.url.absoluteString + path)], "stack": [],
        ]
        for member in more { line[member.name] = member.value }
        return await Exec.answer(to: .object(line))
    }

    @Test("Each repetition has a result, in the order of the starts, and knows its index")
    func order() async {
        // The first is the slowest.
        server.fallback(
            .handler { request in
                .ok(text: request.path).delayed(by: .milliseconds(request.path == "/0" ? 60 : 0))
            })
        let answer = await run("{i}", ["repeat": 4, "concurrency": 4, "serialize": "string"])
        let values = answer["results"]?.array?.map { $0["value"]?.string }
        #expect(values == ["/0", "/1", "/2", "/3"])
        #expect(answer["outcome"] == "response")
    }

    @Test("The index is also replaced in header values")
    func headers() async {
        server.fallback(.ok(text: "x"))
        _ = await Exec.answer(to: [
            "request": [
                "url": .string(server.url.absoluteString + "?i={i}"),
                "headers": [["X-I", "n{i}"], ["X-Mark", "{i}\u{301}"]],
            ],
            "stack": [], "repeat": 3,
        ])
        #expect(server.requests.map { $0.headers["X-I"] } == ["n0", "n1", "n2"])
        #expect(server.requests.last?.headers["X-Mark"]?.utf8.first == UInt8(ascii: "2"))
        #expect(server.requests.map(\.target) == ["/?i=0", "/?i=1", "/?i=2"])
    }

    @Test("No more repetitions run at once than requested", arguments: [1, 3])
    func concurrency(limit: Int) async {
        server.fallback(.ok(text: "x").delayed(by: .milliseconds(5)))
        let answer = await run(
            "x", ["repeat": 12, "concurrency": .number(JSONNumber(limit))])
        #expect(answer["results"]?.array?.count == 12)
        // A connection each for what runs at once.
        #expect(server.counts.accepted <= limit)
        #expect(server.requests.count == 12)
    }

    @Test("A repetition that fails makes the line an error, and the others keep their results")
    func mixed() async {
        server.fallback(.ok(text: "x"))
        server.route("/1", .close)
        let answer = await run("{i}", ["repeat": 3])
        #expect(answer["outcome"] == "error")
        let outcomes = answer["results"]?.array?.map { $0["outcome"]?.string }
        #expect(outcomes == ["response", "error", "response"])
    }

    @Test("Starts are staggered")
    func stagger() async {
        server.fallback(.ok(text: "x"))
        let begin = ContinuousClock.now
        _ = await run("x", ["repeat": 4, "concurrency": 4, "stagger": 0.02])
        #expect(ContinuousClock.now - begin >= .milliseconds(60))
        #expect(server.requests.count == 4)
    }

    @Test("The time to a cancellation counts from the start of each repetition")
    func cancelAfter() async throws {
        server.fallback(.silence)
        // Counted from the line's start, the second would be cancelled before it is sent.
        let answer = await run(
            "x", ["repeat": 2, "concurrency": 2, "stagger": 1, "cancelAfter": 1])
        let results = answer["results"]?.array ?? []
        #expect(results.map { $0["error"]?["code"]?.string } == ["cancelled", "cancelled"])
        #expect(server.requests.count == 2)
        try await server.wait { $0.open == 0 }
    }

    @Test("A cancellation after no time at all sends nothing", arguments: ["urlsession", "curl"])
    func cancelAtOnce(transport: String) async {
        server.fallback(.ok(text: "x"))
        for serialize in ["data", "lines", "events", "none"] {
            let answer = await run(
                "x",
                [
                    "transport": ["use": .string(transport)], "repeat": 50, "concurrency": 8,
                    "cancelAfter": 0, "serialize": .string(serialize),
                ])
            let results = answer["results"]?.array ?? []
            #expect(results.count == 50)
            #expect(results.allSatisfy { $0["error"]?["code"] == "cancelled" })
            #expect(results.allSatisfy { $0["attempts"] == 0 })
        }
        #expect(server.counts.accepted == 0)
    }

    @Test("A cancellation that comes too late changes nothing")
    func lateCancellation() async {
        server.fallback(.ok(text: "x"))
        #expect(await run("x", ["cancelAfter": 30])["outcome"] == "response")
    }
}
