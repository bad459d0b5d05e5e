// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@Suite("How exec reads a response")
struct ExecReadingTests {
    private func read(
        _ serialize: String, _ text: String, type: String = "text/plain", _ more: JSONObject = [:]
    ) async -> JSONValue {
        var more = more
        more["serialize"] = .string(serialize)
        return await Exec.result(
            mock: ["headers": [["Content-Type", .string(type)]], "text": .string(text)],
            with: more)
    }

    @Test(
        "Each serializer gives its value",
        arguments: [
            ("string", "text/plain", "grüße", "grüße"),
            ("json", "application/json", "{\"a\": 1.50}", ["a": 1.5]),
            ("auto", "application/json", "[1]", [1]), ("auto", "text/plain", "[1]", "[1]"),
            ("lines", "text/plain", "a\r\n\nb", ["a", "", "b"]),
            ("jsonLines", "application/x-ndjson", "1\n\n{\"a\": 2}\n", [1, ["a": 2]]),
            (
                "events", "text/event-stream", "id: 7\nretry: 20\nevent: e\ndata: x\ndata: y\n\n",
                [["id": "7", "event": "e", "data": "x\ny", "retry": 20]]
            ),
            (
                "propertyList", "application/x-plist",
                "<plist version=\"1.0\"><array><integer>4</integer></array></plist>", [4]
            ),
        ] as [(String, String, String, JSONValue)])
    func values(serialize: String, type: String, text: String, expected: JSONValue) async {
        let result = await read(serialize, text, type: type)
        #expect(result["value"] == expected, "\(result)")
        #expect(result["outcome"] == "response")
    }

    @Test(
        "A response that must be empty has an empty value",
        arguments: [
            ("json", 204, .null), ("propertyList", 204, .null), ("propertyList", 205, .null),
            ("string", 204, ""), ("lines", 204, []), ("auto", 204, .null),
        ] as [(String, Int, JSONValue)])
    func empty(serialize: String, status: Int, expected: JSONValue) async {
        let result = await Exec.result(
            mock: ["status": .number(JSONNumber(status))], with: ["serialize": .string(serialize)])
        #expect(result["outcome"] == "response" && result["value"] == expected, "\(result)")
    }

    @Test("The default is data: size, digest and bytes, without a value")
    func data() async {
        let result = await Exec.result(mock: ["text": "abc"])
        #expect(result["body"]?["bytes"] == 3)
        #expect(result["body"]?["base64"] == "YWJj")
        #expect(
            result["body"]?["sha256"]
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(result["value"] == nil)
        #expect(result["headElapsed"]?.double != nil)
    }

    @Test("Trailer fields are reported if there are any", arguments: ["data", "lines", "none"])
    func trailers(serialize: String) async throws {
        let server = try TestServer()
        server.route("/", .chunked([Data("a\n".utf8)], trailers: ["X-Sum": "1", "Age": "1"]))
        let result = await Exec.result(of: [
            "request": ["url": .string(server.url.absoluteString)], "stack": [],
            "transport": ["use": "curl"], "serialize": .string(serialize),
        ])
        #expect(result["outcome"] == "response")
        #expect(result["trailers"] == (serialize == "none" ? nil : [["X-Sum", "1"]]))
        server.stop()
    }

    @Test("Bytes are shown up to 64 KiB", arguments: [65_536, 65_537])
    func shownBytes(count: Int) async {
        let result = await Exec.result(mock: ["text": .string(String(repeating: "x", count: count))]
        )
        #expect(result["body"]?["bytes"] == JSONValue.number(JSONNumber(count)))
        #expect((result["body"]?["base64"] == nil) == (count > 65_536))
    }

    @Test("None drops the body unread")
    func none() async {
        let result = await read("none", "abc")
        #expect(result["status"] == 200)
        #expect(result["body"]?["bytes"] == 0)
    }

    @Test("Content that cannot be decoded is an error with the head and the bytes")
    func unreadable() async {
        let result = await read("json", "{", type: "application/json")
        #expect(result["error"]?["code"] == "serialization")
        #expect(result["status"] == 200)
        #expect(result["body"]?["bytes"] == 1)
        #expect(result["value"] == nil)
    }

    @Test("A stream that ends in an error keeps the items before it")
    func itemsThenError() async {
        let result = await read("jsonLines", "1\n2\n{\n3\n")
        #expect(result["outcome"] == "error")
        #expect(result["error"]?["code"] == "serialization")
        #expect(result["value"] == [1, 2])
        let long = await read(
            "lines", "short\n" + String(repeating: "x", count: 100) + "\n",
            ["stack": [["use": "limits", "line": 50]]])
        #expect(long["error"]?["code"] == "tooLarge")
        #expect(long["value"] == ["short"])
    }

    @Test("A stream stops after maxItems items, and the rest is cancelled", arguments: [0, 1, 3])
    func maxItems(count: Int) async throws {
        let server = try TestServer()
        server.route("/x", .endless(Data("a\n".utf8)))
        let result = await Exec.result(of: [
            "request": ["url": .string(server.url.absoluteString + "x")], "stack": [],
            "serialize": "lines", "maxItems": .number(JSONNumber(count)),
        ])
        #expect(result["value"]?.array?.count == count)
        #expect(result["outcome"] == "response")
        try await server.wait { $0.open == 0 }
    }

    @Test("Events continue after the last one when the stream reconnects")
    func reconnects() async throws {
        let server = try TestServer()
        let type: HTTPHeaders = ["Content-Type": "text/event-stream"]
        server.route(
            "/x", .ok(text: "retry: 0\nid: 1\ndata: a\n\n", headers: type),
            .ok(text: "id: 2\ndata: b\n\n", headers: type))
        let result = await Exec.result(of: [
            "request": ["url": .string(server.url.absoluteString + "x")], "stack": [],
            "serialize": "events", "events": ["reconnects": 1, "lastEventID": "0"],
        ])
        #expect(result["value"]?.array?.map { $0["data"]?.string } == ["a", "b"])
        #expect(server.requests.map { $0.headers[.lastEventID] } == ["0", "1"])
    }

    @Test("Followed redirects are listed, and the final URL is reported")
    func hops() async {
        let result = await Exec.result(
            mock: ["status": 302, "headers": [["Location", "/y"]]], ["text": "there"],
            with: ["stack": [["use": "redirect"]], "serialize": "string"])
        #expect(result["hops"] == [["status": 302, "url": "http://a.example/x"]])
        #expect(result["url"] == "http://a.example/y")
        #expect(result["value"] == "there")
        #expect(result["attempts"] == 2)
    }
}
