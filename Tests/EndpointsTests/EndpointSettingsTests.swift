// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeEndpointsStackFiles
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware
@testable import TurnpikeStackFiles

@Suite("Endpoints in stack files")
struct EndpointSettingsTests {
    private let clock = ManualClock()
    private let targets = Targets()
    private let registry: Registry

    /// Where requests went.
    private final class Targets: Sendable {
        private let all = Mutex<[String]>([])
        func add(_ target: ConnectTarget?) {
            all.withLock { $0.append(target?.description ?? "the host itself") }
        }
        func take() -> [String] {
            all.withLock { all in
                defer { all = [] }; return all
            }
        }
    }

    init() {
        var registry = Registry()
        registry.registerMiddleware()
        registry.registerEndpoints()
        registry.register(transport: "plain") { _ in MockTransport(capabilities: []) { _ in .ok() }
        }
        registry.register(transport: "elsewhere") { [targets] _ in
            MockTransport(capabilities: .connectTargets) { request in
                let target = request.options.connectTarget
                targets.add(target)
                return target == .host("10.0.0.7", port: 80) ? .status(500) : .ok()
            }
        }
        self.registry = registry
    }

    private func file(_ stack: String, transport: String = "elsewhere") throws -> StackFile {
        try StackFile(
            parsing: Data(#"{"transport": {"use": "\#(transport)"}, "stack": [\#(stack)]}"#.utf8))
    }

    private func configured(_ stack: String) throws -> ConfiguredClient {
        try ConfiguredClient(
            file(stack), registry: registry, serializers: SerializerTable(), timeSource: clock)
    }

    @Test("Name and port of DNS are those of the host, unless they are given")
    func hostOfDNS() throws {
        let gate = #"{"use": "endpoints", "for": "users.internal:80", "dns": {}}"#
        #expect(try file(gate).check(with: registry) == [])
    }

    @Test(
        "A mistake has its path",
        arguments: [
            (#""list": []"#, "list: found an empty list; expected at least one endpoint"),
            (#""file": "/x", "list": ["a:1"]"#, "found list and file; expected one of"),
            ("", "found none of them; expected one of \"list\", \"file\" and \"dns\""),
            (#""list": ["a"]"#, "list[0]: found \"a\"; expected an address with its port"),
            (
                #""list": ["a:1", {"address": "b", "port": 0}]"#,
                "list[1].port: found 0; expected an integer from 1 to"
            ),
            (
                #""list": [{"address": "b", "port": 1, "wait": 0}]"#,
                "list[0].wait: there is no such"
            ),
            (#""list": ["a:1"], "hashHeader": "A""#, "hashHeader: found without"),
            (#""list": ["a:1"], "subset": {"size": 1}"#, "subset.clientIndex: is missing"),
            (
                #""list": ["a:1"], "subset": {"clientIndex": "x"}"#,
                "subset.clientIndex: found a string"
            ),
            (#""list": ["a:1"], "health": {"panik": 1}"#, "health.panik: there is no such setting"),
            (#""dns": {}"#, "dns.port: is missing; expected a port, here or in \"for\""),
            (#""dns": {"name": "a b", "port": 1}"#, "dns.name: found \"a b\""),
        ])
    func mistakes(settings: String, part: String) throws {
        let gate =
            #"{"use": "endpoints", "for": "users.internal"\#(settings.isEmpty ? "" : ", ")\#(settings)}"#
        let issues = try file(gate).check(with: registry)
        #expect(
            issues.contains {
                $0.description.hasPrefix("stack[0]") && $0.description.contains(part)
            }, "\(issues)")
    }

    @Test("All mistakes are told at once")
    func allMistakes() throws {
        let gate = #"""
            {"use": "endpoints", "for": "http://x/", "list": ["a", "b:1", "c:0"], "choise": "hash",
             "zone": {"spill": 0.5}, "check": {"path": "/", "timeout": 0}}
            """#
        let paths = try file(gate).check(with: registry).map(\.path)
        #expect(
            Set(paths) == [
                "stack[0].for", "stack[0].list[0]", "stack[0].list[2]", "stack[0].choise",
                "stack[0].zone.name", "stack[0].check.timeout",
            ])
    }

    @Test("A transport that cannot connect elsewhere is a mistake of the gate that needs it")
    func transport() throws {
        let gate = #"{"use": "endpoints", "for": "users.internal", "list": ["a:1"]}"#
        let wrong = try file(#"{"use": "retry"}, \#(gate)"#, transport: "plain")
        let issues = wrong.check(with: registry)
        #expect(issues.map(\.path) == ["stack[1]"])
        #expect(issues.first?.message.contains("Endpoints") == true)
        let error = #expect(throws: ClientError.self) {
            try ConfiguredClient(wrong, registry: registry, serializers: SerializerTable())
        }
        #expect(error?.code == .unsupported)
    }

    @Test("A reload keeps the state of endpoints, and takes the new list", .timeLimit(.minutes(2)))
    func reload() async throws {
        func gate(_ list: String) -> String {
            #"{"use": "endpoints", "for": "users.internal", "list": [\#(list)], "policy": "roundRobin", "health": {"consecutiveFailures": 2, "slowStart": 0}}"#
        }
        let configured = try configured(gate(#""10.0.0.7:80", "10.0.0.8:80""#))
        let client = configured.client
        for _ in 0..<40 { _ = try await client.get("http://users.internal/").response() }
        #expect(targets.take().count { $0 == "10.0.0.7:80" } == 2, "then it is ejected")
        try configured.reload(
            file(
                gate(#""10.0.0.7:80", "10.0.0.8:80", "10.0.0.9:80""#))
        )
        // The last list is in use until the new one has come.
        _ = try await client.get("http://users.internal/").response()
        repeat {
            await Task.yield()
            _ = try await client.get("http://users.internal/").response()
        } while !targets.take().contains("10.0.0.9:80")
        for _ in 0..<40 { _ = try await client.get("http://users.internal/").response() }
        #expect(Set(targets.take()) == ["10.0.0.8:80", "10.0.0.9:80"])
        _ = try await client.get("http://other.internal/").response()
        #expect(targets.take() == ["the host itself"])
    }

    // MARK: Groups

    @Test(
        "A mistake of groups has its path",
        arguments: [
            (
                #""use": "canary", "of": "https://a/", "groups": []"#,
                "stack[0].groups: found the weights"
            ),
            (#""use": "canary", "groups": [{"baseURL": "https://a/"}]"#, "groups[0].weight: is"),
            (
                #""use": "canary", "of": "https://a/", "groups": ["https://b/"]"#,
                "groups[0].baseURL: is missing"
            ),
            (
                #""use": "canary", "of": "https://a/", "groups": [{"baseURL": "https://b/", "weight": 1}, {"baseURL": "https://b/", "weight": 2}]"#,
                "groups[1].baseURL: is there twice"
            ),
            (
                #""use": "mirror", "of": "https://a/", "to": "http://b/"#,
                "stack[0].to: found http://b/"
            ),
        ])
    func groupMistakes(settings: String, part: String) throws {
        let quote = settings.hasSuffix("/") ? "\"" : ""
        let issues = try file("{\(settings)\(quote)}").check(with: registry)
        #expect(issues.contains { $0.description.contains(part) }, "\(issues)")
    }

    @Test("A reload changes the share of a canary, and keys stay with a group that does not shrink")
    func canaryReload() async throws {
        func gate(_ weight: Int) -> String {
            #"""
            {"use": "canary", "of": "http://a.example/", "keyHeader": "X-User",
             "groups": [{"baseURL": "http://a.example/", "weight": 80},
                        {"baseURL": "http://b.example/", "weight": \#(weight)}]}
            """#
        }
        let configured = try configured(gate(20))
        func moved() async throws -> Set<Int> {
            var keys: Set<Int> = []
            for key in 0..<100 {
                let call = configured.client.get(
                    "http://a.example/x", headers: ["X-User": "\(key)"])
                if try await call.response().url.host() == "b.example" { keys.insert(key) }
            }
            return keys
        }
        let first = try await moved()
        try configured.reload(file(gate(80)))
        let second = try await moved()
        #expect(first.isStrictSubset(of: second))
        #expect((10...30).contains(first.count) && (35...65).contains(second.count))
    }
}
