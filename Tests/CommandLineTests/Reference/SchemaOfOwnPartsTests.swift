// SPDX-License-Identifier: Apache-2.0

import Testing
import Turnpike
import TurnpikeStackFiles

@testable import TurnpikeCommandLine

/// What the schema allows of parts that are described badly, or not at all.
@Suite("The schema of parts of a user")
struct SchemaOfOwnPartsTests {
    private struct Quiet: RequestAdapter {
        func adapt(_ request: inout Request, context: Context) async throws {}
    }

    private func registry(
        _ description: PartDescription?,
        _ read: @escaping @Sendable (Settings) throws -> Void
    ) -> Registry {
        var registry = Registry.commandLine
        registry.register(gate: "paint", description: description) { settings in
            try read(settings)
            return Quiet()
        }
        return registry
    }

    /// The mistakes in the settings of the gate, by the schema and by the check.
    private func mistakes(_ settings: JSONObject, _ registry: Registry) throws -> [[String]] {
        var gate = settings
        gate["use"] = "paint"
        let file: JSONValue = ["stack": [.object(gate)]]
        let schema = SchemaCheck(root: registry.schema())
        return [
            schema.mistakes(in: file), try StackFile(file).check(with: registry).map(\.path),
        ]
    }

    @Test("A gate without a description may have settings that were not observed")
    func undescribed() throws {
        let throwing = registry(nil) { settings in
            if settings.string("colour") == nil { throw ClientError(.configuration, "no colour") }
            _ = settings.int("coats", default: 2, in: 1...9)
        }
        #expect(try mistakes(["colour": "red", "coats": 3], throwing) == [[], []])
        #expect(try mistakes(["colour": 3], throwing)[0] == ["stack[0].colour"])
        let conditional = registry(nil) { settings in
            guard let pot = settings.object("pot"), pot.bool("isOpen", default: false) else {
                return
            }
            _ = pot.string("brush")
            pot.finish()
        }
        #expect(try mistakes(["pot": ["isOpen": true, "brush": "x"]], conditional) == [[], []])
    }

    @Test("So may one whose factory throws on the example, and no other with a description")
    func described() throws {
        @Sendable func read(_ settings: Settings) throws {
            if settings.string("colour") == nil { throw ClientError(.configuration, "no colour") }
            _ = settings.int("coats", default: 2, in: 1...9)
        }
        let incomplete = registry(
            PartDescription("Paints.", settings: ["colour": "The colour."]), read)
        #expect(try mistakes(["colour": "red", "coats": 3], incomplete) == [[], []])
        let noExample = registry(PartDescription("Paints.", example: "["), read)
        #expect(try mistakes(["colour": "red", "coats": 3], noExample) == [[], []])
        // That it throws on an empty object is no gap.
        let complete = registry(
            PartDescription(
                "Paints.", settings: ["colour": "The colour.", "coats": "How often."],
                example: #"{"use": "paint", "colour": "red"}"#), read)
        #expect(complete.checkReference() == [])
        #expect(try mistakes(["colour": "red", "coats": 3], complete) == [[], []])
        let place = ["stack[0].coat"]
        #expect(try mistakes(["colour": "red", "coat": 3], complete) == [place, place])
    }

    @Test("A setting that is read under a condition is known if the example meets the condition")
    func condition() throws {
        @Sendable func read(_ settings: Settings) {
            if settings.bool("isWet", default: false) {
                _ = settings.seconds("dry", default: .zero, orZero: true)
            }
        }
        let registry = registry(
            PartDescription(
                "Paints.", settings: ["isWet": "Whether it is wet.", "dry": "How long it dries."],
                example: #"{"use": "paint", "isWet": true}"#), read)
        #expect(registry.checkReference() == [])
        #expect(try mistakes(["isWet": true, "dry": 3], registry) == [[], []])
    }

    @Test("An object within objects of its own kind may be as deep as a file likes")
    func recursion() throws {
        @Sendable func read(_ settings: Settings) {
            _ = settings.string("name")
            settings.object("inner").map(read)
            settings.finish()
        }
        let registry = registry(
            PartDescription(
                "Paints.",
                settings: [
                    "name": "A name.", "inner": "One inside.", "inner.name": "A name.",
                    "inner.inner": "One inside.", "inner.inner.name": "A name.",
                    "inner.inner.inner": "One inside.", "inner.inner.inner.name": "A name.",
                    "inner.inner.inner.inner": "One inside.",
                    "inner.inner.inner.inner.name": "A name.",
                    "inner.inner.inner.inner.inner": "One inside.",
                ]), read)
        var value: JSONObject = ["name": "x"]
        for _ in 0..<8 { value = ["name": "x", "inner": .object(value)] }
        #expect(try mistakes(value, registry) == [[], []])
    }

    @Test("A setting that is refused may be null, and the schema says why it may be nothing else")
    func refused() throws {
        let registry = Registry.commandLine
        let root = registry.schema()
        let schema = SchemaCheck(root: root)
        for (value, isAccepted) in [(JSONValue.null, true), ([:], false), (3, false)] {
            let file: JSONValue = ["transport": ["use": "urlsession", "trust": value]]
            #expect(schema.mistakes(in: file).isEmpty == isAccepted)
            #expect(try StackFile(file).check(with: registry).isEmpty == isAccepted)
        }
        let trust = root["$defs"]?["transport-urlsession"]?["properties"]?["trust"]
        #expect(trust?["description"]?.string?.contains("URLSession on Linux") == true)
    }

    @Test("A refused setting of a gate that is read as well keeps the type of the read")
    func refusedAndRead() throws {
        let registry = registry(nil) { settings in
            _ = settings.string("brush")
            settings.refuse("brush", because: "red has none")
        }
        let gate = registry.schema()["$defs"]?["gate-paint"]?["properties"]?["brush"]
        #expect(gate?["anyOf"] != nil && gate?["description"] == nil)
    }
}
