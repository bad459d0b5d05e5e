// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSharedStateStackFiles
import TurnpikeTesting
import TurnpikeTrafficStackFiles

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState
@testable import TurnpikeStackFiles
@testable import TurnpikeTraffic

private let sharedLimit = #"{"use": "rateLimit", "perSecond": 5, "shared": true}"#

@Suite("Shared state in stack files")
struct SharedSettingsTests {
    private let clock = ManualClock()
    private let store = MemorySharedStore()

    private var registry: Registry {
        var registry = Registry()
        registry.registerMiddleware()
        registry.registerSharedState()
        registry.registerTraffic()
        registry.register(transport: "well") { _ in MockTransport { _ in .ok(text: "well") } }
        registry.register(sharedStore: "given") { [store] settings in
            _ = settings.string("place")
            return settings.isDryRun ? MemorySharedStore(hidesTraffic: false) : store
        }
        return registry
    }

    private func file(_ shared: String, _ stack: String) throws -> StackFile {
        let shared = shared.isEmpty ? "" : #""shared": \#(shared), "#
        return try StackFile(parsing: Data("{\(shared)\"stack\": [\(stack)]}".utf8))
    }

    private func configured(_ shared: String, _ stack: String) throws -> ConfiguredClient {
        try ConfiguredClient(
            file(shared, stack), registry: registry, serializers: SerializerTable(),
            timeSource: clock)
    }

    private func mistakes(_ shared: String, _ stack: String) throws -> [String] {
        try file(shared, stack).check(with: registry).map(\.description)
    }

    private func limit(_ client: ConfiguredClient, _ index: Int = 0) throws -> any RateLimiting {
        try #require(client.client.stack.gates[index] as? any RateLimiting)
    }

    @Test(
        "A mistake has its path",
        arguments: [
            ("", sharedLimit, "stack[0].shared: the file describes no shared state"),
            (
                #"{"use": "memory"}"#, #"{"use": "rateLimit", "perSecond": 5}"#,
                "shared: no gate uses this state"
            ),
            ("", #"{"use": "rateLimit", "rules": [{"per": 5}]}"#, "stack[0].rules[0].permits: is"),
            ("", #"{"use": "rateLimit", "rules": [5]}"#, "stack[0].rules[0]: expected an object"),
            (
                "", #"{"use": "rateLimit", "rules": [{"permits": 5, "brust": 5}]}"#,
                "stack[0].rules[0].brust: there is no such setting"
            ),
            ("", #"{"use": "rateLimit", "rules": []}"#, "stack[0].perSecond: is missing"),
            (
                "", #"{"use": "rateLimit", "burst": 5, "rules": [{"permits": 5}]}"#,
                "stack[0].burst: belongs to perSecond"
            ),
            (
                "", #"{"use": "rateLimit", "perSecond": 5, "keyHeader": "Authorization"}"#,
                "stack[0].keyHeader: found a field with secrets"
            ),
            (
                "", #"{"use": "rateLimit", "perSecond": 5, "key": "search"}"#,
                "stack[0].key: names a shared quota, which needs `shared`"
            ),
            (
                #"{"use": "memory"}"#,
                #"{"use": "rateLimit", "perSecond": 5, "shared": true, "key": ""}"#,
                "stack[0].key: found an empty text"
            ),
            (
                "", #"{"use": "rateLimit", "perSecond": 5, "costHeader": "a b"}"#,
                "stack[0].costHeader: "
            ),
        ])
    func mistakes(shared: String, stack: String, expected: String) throws {
        let found = try mistakes(shared, stack)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.hasPrefix(expected) == true, "\(found)")
    }

    @Test("The settings of a limit are its rules, its key and its costs")
    func rules() throws {
        let client = try configured(
            "",
            """
            {"use": "rateLimit", "perSecond": 5, "burst": 3, "keyHeader": "X-Tenant",
             "costHeader": "X-Cost", "rules": [{"permits": 100, "per": 60, "burst": 20}]}
            """)
        let limit = try limit(client)
        #expect(
            limit.rules == [
                QuotaRule(5, per: .seconds(1), burst: 3),
                QuotaRule(100, per: .seconds(60), burst: 20),
            ])
        var request = Request(.get, "http://a.example/")
        #expect(limit.options.key(of: request)?.part == nil)
        #expect(limit.options.cost(of: request) == 1)
        for (text, cost) in [("7", 7), (" 0 ", 0), ("-3", 0), ("many", 1)] {
            request.headers["X-Tenant"] = "blue"
            request.headers["X-Cost"] = text
            #expect(limit.options.key(of: request)?.part == "blue")
            #expect(limit.options.cost(of: request) == cost)
        }
    }

    @Test("Two clients of one file have one quota")
    func quota() async throws {
        let clients = try (0..<2).map { _ in try configured(#"{"use": "given"}"#, sharedLimit) }
        for client in clients {
            let limit = try limit(client)
            #expect(
                (limit as? SharedRateLimit)?.driver.plan.access.store as? MemorySharedStore
                    === store)
        }
        let answer = await store.take(
            QuotaRequest(key: "x", rules: [QuotaRule(1, per: .seconds(1))]))
        #expect(answer == .granted(QuotaGrant(permits: 1, offsets: [.zero])))
    }

    @Test("Limits and retries of a stack have their cool-downs in common, and a reload keeps them")
    func cooldowns() throws {
        let stack =
            #"{"use": "retry", "cooldowns": true}, {"use": "rateLimit", "perSecond": 5, "cooldowns": true}"#
        let client = try configured("", stack)
        let first = try #require(try limit(client, 1).cooldowns)
        #expect((client.client.stack.gates[0] as? Retry)?.cooldowns === first)
        try client.reload(file("", stack + #", {"use": "deadline"}"#))
        #expect(try limit(client, 1).cooldowns === first)
        #expect((client.client.stack.gates[0] as? Retry)?.cooldowns === first)
    }

    @Test(
        "A reload keeps permits if rules and shared state are the same",
        arguments: [
            (#"{"use": "given", "place": "a"}"#, sharedLimit, true),
            (#"{"use": "given", "place": "a"}"#, sharedLimit + #", {"use": "deadline"}"#, true),
            (
                #"{"use": "given", "place": "a"}"#,
                #"{"use": "rateLimit", "perSecond": 5, "shared": "given", "queue": 3}"#, true
            ),
            (#"{"use": "given", "place": "b"}"#, sharedLimit, false),
            (#"{"use": "given", "place": "a", "replicas": 3}"#, sharedLimit, false),
            (
                #"{"use": "given", "place": "a"}"#,
                #"{"use": "rateLimit", "perSecond": 6, "shared": true}"#, false
            ),
            (
                #"{"use": "given", "place": "a"}"#,
                #"{"use": "rateLimit", "perSecond": 5, "shared": true, "key": "search"}"#, false
            ),
            ("", #"{"use": "rateLimit", "perSecond": 5}"#, false),
        ])
    func reload(shared: String, stack: String, isKept: Bool) throws {
        let client = try configured(#"{"use": "given", "place": "a"}"#, sharedLimit)
        let before = try limit(client).identity
        try client.reload(file(shared, stack))
        #expect((try limit(client).identity == before) == isKept)
    }

    @Test("What a gate states of its shared state is known to a check")
    func facts() throws {
        let draft = try file(#"{"use": "given", "timeLimit": 0.05}"#, sharedLimit).parsed(
            with: registry)
        let effects = try #require(draft.gates.first?.gate.facts(for: nil)?.effects)
        #expect(
            effects.contains(.sharesState(.counts, isHidden: false, atMost: .milliseconds(50))))
    }
}

extension RateLimiting {
    fileprivate var rules: [QuotaRule] { limiter.rules }
    fileprivate var cooldowns: Cooldowns? { limiter.cooldowns }
    fileprivate var identity: ObjectIdentifier { ObjectIdentifier(limiter) }
}
