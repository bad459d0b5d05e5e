// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

/// The settings of each gate and transport that a stack file may name.
@Suite("Stack files with the standard registry")
struct StackFileGateTests {
    private func mistakes(_ file: JSONValue) throws -> [String] {
        try StackFile(file).check(with: .standard).map(\.description)
    }

    @Test(
        "A gate with all its settings is accepted",
        arguments: [
            [
                "use": "log", "to": "stderr", "level": "debug", "body": 100,
                "redactHeaders": ["X-A"], "redactQuery": ["q"], "id": "l",
            ],
            ["use": "metrics", "to": "stderr"], ["use": "deadline", "seconds": 0.5],
            ["use": "redirect", "limit": 0, "allowDowngrade": true, "sensitiveHeaders": ["X-Key"]],
            [
                "use": "retry", "attempts": 12, "base": 0, "max": 1, "jitter": "none",
                "maxRetryAfter": 0, "budget": .null, "statuses": [500], "methods": ["GET", "POST"],
            ],
            ["use": "attemptTimeout", "seconds": 1],
            ["use": "idleTimeout", "seconds": 1, "minBytesPerSecond": 10, "window": 2],
            [
                "use": "limits", "body": 1, "headers": 1, "headerCount": 1, "ratio": 1, "line": 1,
            ],
            ["use": "validate", "status": [200, [300, 399]], "contentType": ["text/*"]],
            ["use": "validate", "contentType": .null],
            ["use": "validate", "contentType": "accept"],
            ["use": "compressBodies", "coding": "deflate", "level": 9, "minimum": 0],
            ["use": "headers", "set": [["A", "1"]], "add": [["B", "2"], ["B", "3"]]],
        ] as [JSONValue])
    func complete(gate: JSONValue) throws {
        #expect(try mistakes(["stack": [gate]]).isEmpty)
        let name = try #require(gate["use"])
        #expect(try mistakes(["stack": [["use": name]]]).isEmpty)
        let found = try mistakes(["stack": [["use": name, "nonsense": 1]]])
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("stack[0].nonsense: there is no such setting") == true)
    }

    @Test(
        "A setting of a wrong type, or out of bounds, is a mistake with its path",
        arguments: [
            (["use": "deadline", "seconds": 0], "seconds: found 0"),
            (["use": "deadline", "secnds": 1], "secnds: there is no such setting; did you mean"),
            (["use": "log", "level": "verbose"], "level: \"verbose\" is not known; allowed: "),
            (["use": "log", "body": 65_537], "body: found 65537"),
            (["use": "redirect", "limit": 101], "limit: found 101"),
            (["use": "redirect", "allowDowngrade": "yes"], "allowDowngrade: found a string"),
            (["use": "retry", "attempts": 0], "attempts: found 0"),
            (["use": "retry", "attempts": 13], "attempts: found 13"),
            (["use": "retry", "jitter": "ful"], "jitter: \"ful\" is not known; did you mean"),
            (["use": "retry", "statuses": [503, 99]], "statuses[1]: expected a status from 100"),
            (["use": "retry", "budget": -1], "budget: found -1"),
            (["use": "retry", "methods": "GET"], "methods: found a string"),
            (["use": "idleTimeout", "window": 0], "window: found 0"),
            (["use": "limits", "line": 0], "line: found 0"),
            (["use": "limits", "body": 1.5], "body: found 1.5"),
            (["use": "validate", "status": 200], "status: found a number; expected an array"),
            (["use": "validate", "status": [[299, 200]]], "status[0]: expected a status or a"),
            (["use": "validate", "contentType": "any"], "contentType: "),
            (["use": "validate", "contentType": ["text"]], "contentType[0]: expected a media"),
            (["use": "compressBodies", "coding": "br"], "coding: \"br\" is not known; allowed: "),
            (["use": "compressBodies", "level": 10], "level: found 10"),
            (["use": "compressBodies", "minimum": -1], "minimum: found -1"),
            (["use": "headers", "set": [["A", "1\r\n2"]]], "set[0]: "),
            (["use": "headers", "set": ["A"]], "set[0]: expected a pair"),
        ] as [(JSONValue, String)])
    func mistake(gate: JSONValue, expected: String) throws {
        let found = try mistakes(["stack": [["use": "deadline"], gate]])
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("stack[1]." + expected) == true, "\(found)")
    }

    @Test("A setting that URLSession does not support is an error by name")
    func unsupported() throws {
        let transport: JSONValue = [
            "use": "urlsession", "maxConnectionsPerHost": 4, "trust": ["ca": "x"], "proxy": "x",
            "unixSocket": "x", "http2": true,
        ]
        let issues = try StackFile(["transport": transport]).check(with: .standard)
        #expect(issues.allSatisfy { $0.kind == .unsupported })
        #expect(
            Set(issues.map(\.path)) == [
                "transport.trust", "transport.proxy", "transport.unixSocket", "transport.http2",
            ])
        let error = #expect(throws: ClientError.self) {
            try ConfiguredClient(StackFile(["transport": transport]))
        }
        #expect(error?.code == .unsupported)
    }

    @Test("The preset is the default stack of a client")
    func preset() throws {
        let file = try ConfiguredClient(StackFile(["stack": "standard"]))
        #expect(file.client.stack.gates.map(\.name) == Client().stack.gates.map(\.name))
        let missing = try ConfiguredClient(StackFile([:]))
        #expect(missing.client.stack.gates.map(\.name) == Client().stack.gates.map(\.name))
    }

    @Test("A plugin's or a user's gate is registered in one line")
    func ownGate() async throws {
        struct Tenant: SynchronousRequestAdapter {
            let name: String
            func adapt(_ request: inout Request, context: Context) {
                request.headers["X-Tenant"] = name
            }
        }
        var registry = Registry.standard
        registry.register(gate: "tenant") { Tenant(name: $0.required("name")) }
        let file = try StackFile([
            "transport": ["use": "mock"], "stack": [["use": "tenant", "name": "blue"]],
        ])
        let client = try ConfiguredClient(file, registry: registry, serializers: .standard).client
        _ = try await client.get("http://a.example/").response()
        let transport = try #require(client.transport as? MockTransport)
        #expect(transport.sent.first?.request.headers["X-Tenant"] == "blue")
        let bad = try StackFile(["stack": [["use": "tenant"]]]).check(with: registry)
        #expect(bad.map(\.description) == ["stack[0].name: is missing; expected a string"])
    }

    @Test("Bodies are compressed as the file says")
    func compressed() async throws {
        let file = try StackFile([
            "transport": ["use": "mock"],
            "stack": [["use": "compressBodies", "coding": "deflate", "minimum": 100]],
        ])
        let client = try ConfiguredClient(file).client
        for count in [99, 100] {
            let body = RequestBody.data(Data(repeating: 0x61, count: count))
            _ = try await client.post("http://a.example/", body: body).response()
        }
        let sent = try #require(client.transport as? MockTransport).sent
        #expect(sent.map { $0.request.headers[.contentEncoding] } == [nil, "deflate"])
        // zlib's framing: deflate in a window of 32 KiB (RFC 1950 §2.2).
        #expect(sent[0].body.count == 99 && sent[1].body.first == 0x78 && sent[1].body.count < 50)
    }

    @Test("A reload keeps the retry budget and applies a changed ratio")
    func budgets() async throws {
        func file(_ more: JSONObject) throws -> StackFile {
            var retry: JSONObject = [
                "use": "retry", "attempts": 12, "base": 0, "jitter": "none", "budget": 0,
            ]
            for member in more { retry[member.name] = member.value }
            return try StackFile([
                "transport": ["use": "mock", "responses": [["status": 503]]],
                "stack": [.object(retry)],
            ])
        }
        let clock = ManualClock()
        let client = try ConfiguredClient(
            file([:]), registry: .standard, serializers: .standard, timeSource: clock)
        func attempts() async throws -> Int {
            try await client.client.get("http://a.example/").response().attempts
        }
        // 100 retries in ten seconds stand free to a quiet client; each call takes eleven.
        var sent = 0
        for _ in 0..<20 { sent += try await attempts() }
        #expect(sent == 20 + 100)
        try client.reload(file(["max": 9]))
        #expect(try await attempts() == 1)
        // 22 calls, of which a fifth may be retried beyond the 100.
        try client.reload(file(["budget": 0.2]))
        #expect(try await attempts() == 1 + 4)
    }
}
