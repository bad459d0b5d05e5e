// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@Suite("The request of an exec line")
struct ExecRequestTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.fallback(.echo)
    }

    /// What the server saw.
    private func sent(
        _ request: JSONObject, options: JSONValue = .null
    ) async throws -> ReceivedRequest {
        let result = await Exec.result(of: [
            "request": .object(request), "stack": [], "options": options,
            "baseURL": .string(server.url.absoluteString + "v1/"),
        ])
        #expect(result["status"] == 200, "\(result)")
        return try #require(server.requests.last)
    }

    @Test("Method, URL and header fields")
    func head() async throws {
        let request = try await sent([
            "method": "PATCH", "url": "users/1?a=1",
            "headers": [["X-A", "1"], ["x-a", "2"], ["X-B", ""]],
        ])
        #expect(request.method == .patch)
        #expect(request.target == "/v1/users/1?a=1")
        #expect(request.headers["X-A"] == "1, 2")
        #expect(try await sent(["url": "/root"]).target == "/root")
        #expect(try await sent(["url": "/root"]).method == .get)
    }

    @Test(
        "Query items, as an object or as pairs",
        arguments: [
            (["a": 1, "b": "x y", "c": true, "d": .null], "?a=1&b=x%20y&c=true&d"),
            ([["a", "1"], ["a", "2"], ["&", "="]], "?a=1&a=2&%26=%3D"),
            (["a": [1, "x", true, .null], "b": [], "c": 2], "?a=1&a=x&a=true&a&c=2"),
        ] as [(JSONValue, String)])
    func query(query: JSONValue, expected: String) async throws {
        #expect(try await sent(["url": "s", "query": query]).target == "/v1/s" + expected)
    }

    @Test("Path parameters are one segment each")
    func pathParameters() async throws {
        let request = try await sent([
            "url": "users/{id}/files/{name}", "pathParameters": ["id": 7, "name": "a/../b c"],
        ])
        #expect(request.target == "/v1/users/7/files/a%2F..%2Fb%20c")
    }

    @Test(
        "Bodies of every kind",
        arguments: [
            ("text", "grüße", "grüße", nil), ("base64", "AP8=", nil, nil),
            ("json", ["a": [1, .null]], #"{"a":[1,null]}"#, "application/json"),
            ("stream", ["base64": "YWJj", "chunk": 1], "abc", nil),
        ] as [(String, JSONValue, String?, String?)])
    func bodies(key: String, value: JSONValue, text: String?, type: String?) async throws {
        let request = try await sent(["method": "POST", "url": "x", key: value])
        #expect(request.body == text.map { Data($0.utf8) } ?? Data([0x00, 0xFF]))
        if let type { #expect(request.headers[.contentType] == type) }
        #expect(request.headers[.contentLength] == String(request.body.count))
    }

    @Test("A file is a body")
    func file() async throws {
        let folder = TemporaryFolder()
        let path = try folder.write("on disk", to: "f")
        let request = try await sent(["method": "PUT", "url": "x", "file": .string(path)])
        #expect(request.body == Data("on disk".utf8))
    }

    @Test("A stream that fails fails the call, and no complete request arrives")
    func failingStream() async throws {
        let result = await Exec.result(of: [
            "stack": [],
            "request": [
                "method": "POST", "url": .string(server.url.absoluteString),
                "stream": ["base64": "YWJjZGVm", "chunk": 2, "failAfter": 4],
            ],
        ])
        #expect(result["error"]?["code"] == "upload")
        #expect(server.requests.isEmpty)
    }

    @Test("A stream is sent again only if it is replayable", arguments: [true, false])
    func replay(isReplayable: Bool) async throws {
        server.route("/flaky", .status(503), .status(200))
        let result = await Exec.result(of: [
            "stack": [["use": "retry", "base": 0.001, "jitter": "none", "statuses": [503]]],
            "request": [
                "method": "PUT", "url": .string(server.url.absoluteString + "flaky"),
                "stream": ["base64": "YWJj", "replayable": .bool(isReplayable)],
            ],
        ])
        #expect(result["status"] == (isReplayable ? 200 : 503))
        #expect(server.requests.count == (isReplayable ? 2 : 1))
    }

    @Test("Marked as retryable, a POST is repeated", arguments: [true, false])
    func retryable(isMarked: Bool) async {
        let result = await Exec.result(
            mock: ["status": 503], ["status": 200],
            request: ["method": "POST", "url": "http://a.example/", "text": "x"],
            with: [
                "options": ["retryable": .bool(isMarked)],
                "stack": [["use": "retry", "base": 0.001, "jitter": "none"]],
            ])
        #expect(result["status"] == (isMarked ? 200 : 503))
        #expect(result["attempts"] == (isMarked ? 2 : 1))
    }

    @Test("Time limits and other limits hold for one call")
    func options() async {
        let slow = await Exec.result(mock: ["delay": 30], with: ["options": ["timeout": 0.02]])
        #expect(slow["error"]?["code"] == "deadlineExceeded")
        let large = await Exec.result(
            mock: ["text": "0123456789"], with: ["options": ["limits": ["body": 5]]])
        #expect(large["error"]?["code"] == "tooLarge")
        let wrong = await Exec.result(mock: [:], with: ["options": ["limits": ["bdy": 5]]])
        #expect(wrong["error"]?["message"]?.string?.hasPrefix("options.limits.bdy: ") == true)
    }

    @Test(
        "A mistake in a request is reported with its path",
        arguments: [
            (["url": 3], "request.url: "),
            (["url": "x", "headers": [["a"]]], "request.headers[0]"),
            (["url": "x", "base64": "?"], "request.base64: the string is not base64"),
            (["url": "x", "text": "a", "json": 1], "request: more than one body was given"),
            (["url": "x", "stream": ["base64": "", "chunk": 0]], "request.stream.chunk: found 0"),
            (["url": "x", "stream": [:]], "request.stream.base64: is missing"),
            (["url": "x", "pathParameters": 1], "request.pathParameters: "),
            (["url": "x", "query": ["a": ["b": 1]]], "request.query.a: "),
            (["url": "x", "query": ["a": [1, [2]]]], "request.query.a: "),
            (["url": "x", "multipart": [["text": "x"]]], "request.multipart[0].name: is missing"),
            (["url": "x", "multipart": [["name": "a", "txt": ""]]], "request.multipart[0].txt: "),
            (["url": "x", "multipart": [["name": "a"]]], "request.multipart[0]: a part needs"),
            (["url": "x", "multipart": ["a"]], "request.multipart[0]: "),
        ] as [(JSONObject, String)])
    func mistakes(request: JSONObject, expected: String) async {
        let result = await Exec.result(of: ["request": .object(request), "stack": []])
        #expect(result["error"]?["code"] == "configuration")
        #expect(result["error"]?["message"]?.string?.contains(expected) == true, "\(result)")
    }

    @Test(
        "A request that cannot be sent is invalid, not misconfigured",
        arguments: [
            ["url": "ftp://a.example/"], ["url": "relative"], ["url": "http://a.example/%zz"],
            ["url": "http://a.example/", "headers": [["bad name", "x"]]],
            ["url": "http://a.example/", "headers": [["X-A", "a\r\nb"]]],
            ["url": "http://a.example/", "method": "A B"],
        ] as [JSONValue])
    func invalid(request: JSONValue) async {
        let result = await Exec.result(mock: [:], request: request)
        #expect(result["error"]?["code"] == "invalidRequest")
        #expect(result["attempts"] == 0)
    }
}
