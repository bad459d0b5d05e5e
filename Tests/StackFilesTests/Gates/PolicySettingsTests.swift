// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeStackFiles

@Suite("Stack files of the gates that decide where requests go")
struct PolicySettingsTests {
    private let registry: Registry

    init() {
        var registry = Registry()
        registry.registerMiddleware()
        registry.registerTransports()
        self.registry = registry
    }

    private func file(_ stack: String, headers: String = "[]") throws -> StackFile {
        let text = """
            {"baseURL": "https://a.example/", "stack": [\(stack)],
             "transport": {"use": "mock", "responses": [{"status": 200, "headers": \(headers)}]}}
            """
        return try StackFile(parsing: Data(text.utf8))
    }

    private func configured(_ file: StackFile) throws -> ConfiguredClient {
        try ConfiguredClient(file, registry: registry, serializers: SerializerTable())
    }

    @Test("Cookies and hosts outlive a reload that leaves their settings as they are")
    func reload() async throws {
        let headers = #"[["Set-Cookie", "a=1"], ["Strict-Transport-Security", "max-age=100"]]"#
        let gates = #"{"use": "hsts"}, {"use": "cookies"}"#
        let configured = try configured(file(gates, headers: headers))
        let transport = try #require(configured.client.transport as? MockTransport)
        _ = try await configured.client.get("x").response()
        try configured.reload(file(gates + #", {"use": "limits"}"#, headers: headers))
        _ = try await configured.client.get("http://a.example/x").response()
        #expect(transport.sent.last?.request.headers[.cookie] == "a=1")
        #expect(transport.sent.last?.request.url.scheme == "https")
        let list =
            FileManager.default.temporaryDirectory.path + "/turnpike-\(UUID().uuidString).jar"
        try configured.reload(
            file(#"{"use": "hsts"}, {"use": "cookies", "file": "\#(list)"}"#, headers: headers))
        _ = try await configured.client.get("x").response()
        #expect(transport.sent.last?.request.headers[.cookie] == nil)
        await configured.client.shutdown()
        try? FileManager.default.removeItem(atPath: list)
    }

    @Test(
        "Mistakes have their paths",
        arguments: [
            (#"{"use": "urlPolicy", "schemes": ["ftp"]}"#, "stack[0].schemes[0]"),
            (
                #"{"use": "urlPolicy", "allowedHosts": ["a.example", "a b"]}"#,
                "stack[0].allowedHosts[1]"
            ),
            (
                #"{"use": "redirect", "sensitiveHeaders": ["a", "b c"]}"#,
                "stack[0].sensitiveHeaders[1]"
            ),
            (#"{"use": "retry", "methods": ["GET", "P T"]}"#, "stack[0].methods[1]"),
            (#"{"use": "retry", "methods": ["get"]}"#, "stack[0].methods[0]"),
            (#"{"use": "validate", "status": [[200, 299], [-5, 99]]}"#, "stack[0].status[1]"),
            (#"{"use": "validate", "status": [[200, 2999]]}"#, "stack[0].status[0]"),
            (#"{"use": "log", "redactHeaders": ["X Y"]}"#, "stack[0].redactHeaders[0]"),
        ])
    func mistakes(gate: String, path: String) throws {
        let issues = try file(gate).check(with: registry)
        #expect(issues.map(\.path) == [path])
    }

    @Test("A check opens no file; a file that cannot be read is a configuration error")
    func files() throws {
        let directory = FileManager.default.temporaryDirectory.path
        for gate in ["cookies", "hsts"] {
            let file = try file(#"{"use": "\#(gate)", "file": "\#(directory)"}"#)
            #expect(file.check(with: registry).isEmpty)
            #expect {
                try configured(file)
            } throws: {
                ClientError.Code.configuration ~= $0
            }
        }
    }

    @Test("A jar's file that was written with a suffix list shares no cookies without one")
    func listIsGone() async throws {
        let path =
            FileManager.default.temporaryDirectory.path + "/turnpike-\(UUID().uuidString).jar"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lines = ["shared", "own"].map { name in
            #"{"name": "\#(name)", "value": "1", "domain": "a.example", "path": "/", "created": 1, "#
                + #""expires": 4000000000, "hostOnly": \#(name == "own")}"#
        }
        try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
        let configured = try configured(file(#"{"use": "cookies", "file": "\#(path)"}"#))
        let transport = try #require(configured.client.transport as? MockTransport)
        _ = try await configured.client.get("x").response()
        #expect(transport.sent.last?.request.headers[.cookie] == "own=1")
        await configured.client.shutdown()
    }

    @Test("The settings reach the gates")
    func settings() async throws {
        let policy = try configured(
            file(#"{"use": "urlPolicy", "denyPrivate": "always", "resolve": false}"#))
        #expect(await code(of: policy.client.get("https://10.0.0.1/")) == .urlPolicy)
        #expect(await code(of: policy.client.get("x")) == nil)
        let hosts = try configured(
            file(#"{"use": "urlPolicy", "allowedHosts": ["*.a.example"], "schemes": ["https"]}"#))
        #expect(await code(of: hosts.client.get("x")) == .urlPolicy)
        #expect(await code(of: hosts.client.get("https://b.a.example/")) == nil)
    }
}
