// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeMiddleware
import TurnpikeSharedState
import TurnpikeSharedStateStackFiles
import TurnpikeStackFiles
import TurnpikeTrafficStackFiles
import TurnpikeValkey
import TurnpikeValkeyStackFiles

@Suite("Valkey in stack files")
struct ValkeySettingsTests {
    private var registry: Registry {
        var registry = Registry.standard
        registry.registerSharedState()
        registry.registerTraffic()
        registry.registerValkey()
        return registry
    }

    private func file(_ settings: String) throws -> StackFile {
        let gate = #"{"use": "rateLimit", "perSecond": 5, "shared": true}"#
        let text = #"{"shared": {"use": "valkey", \#(settings)}, "stack": [\#(gate)]}"#
        return try StackFile(parsing: Data(text.utf8))
    }

    @Test(
        "A mistake has its path, and shows no password",
        arguments: [
            (#""connections": 1"#, "shared.url: is missing"),
            (#""url": "http://:secretive@a""#, "shared.url: this URL of a Valkey or Redis server"),
            (#""url": "redis://secretive@a""#, "shared.url: this URL of a Valkey or Redis server"),
            (#""url": "redis://a", "connections": 0"#, "shared.connections: found 0"),
            (
                #""url": "redis://a", "conections": 1"#,
                "shared.conections: there is no such setting"
            ),
        ])
    func mistakes(settings: String, expected: String) throws {
        let found = try file(settings).check(with: registry).map(\.description)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.hasPrefix(expected) == true, "\(found)")
        #expect(!found.joined().contains("secretive"))
    }

    @Test(
        "Whether others can read what goes to the server is known to the linter",
        arguments: [
            ("redis://cache.internal", false), ("redis://10.0.0.7:6379", false),
            ("redis://127.0.0.1:6379,10.0.0.7:6379", false), ("redis://127.0.0.1", true),
            ("redis://localhost:7/0", true), ("redis://[::1]:7", true),
            ("rediss://cache.internal", true), ("unix:///run/valkey.sock", true),
            ("redis://127.0.0.1.example", false),
        ])
    func hidden(url: String, isHidden: Bool) throws {
        let draft = try file(#""url": "\#(url)""#).parsed(with: registry)
        let effects = try #require(draft.gates.first?.gate.facts(for: nil)?.effects)
        let stated = effects.compactMap { effect -> Bool? in
            if case .sharesState(_, let isHidden, _) = effect { isHidden } else { nil }
        }
        #expect(stated == [isHidden])
    }
}
