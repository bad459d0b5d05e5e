// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeCore
@testable import TurnpikeStackFiles

@Suite("Reference of a registry")
struct ReferenceTests {
    private struct Quiet: RequestAdapter {
        func adapt(_ request: inout Request, context: Context) async throws {}
    }

    private enum Colour: String, CaseIterable {
        case blue, red
    }

    /// A registry with one gate, which reads each kind of setting.
    private func registry(
        _ description: PartDescription?, _ read: @escaping @Sendable (Settings) -> Void
    ) -> Registry {
        var registry = Registry()
        registry.register(gate: "paint", description: description) { settings in
            read(settings)
            return Quiet()
        }
        return registry
    }

    private func settings(_ read: @escaping @Sendable (Settings) -> Void) -> [String: String] {
        let part = registry(nil, read).gateReferences.first
        return Dictionary(
            uniqueKeysWithValues: (part?.settings ?? []).map { setting in
                let standard = setting.defaultValue.map { " = \($0)" } ?? ""
                let mark = setting.isRequired ? "!" : ""
                return (setting.name, setting.type.words + standard + mark)
            })
    }

    @Test("Types, bounds and defaults are those that the factory reads")
    func observes() {
        let found = settings { settings in
            _ = settings.string("id")
            _ = settings.string("text")
            _ = settings.required("name")
            _ = settings.requiredInt("grit", in: 1...9)
            _ = settings.requiredSeconds("rest")
            _ = settings.choice("colour", default: Colour.red)
            _ = settings.bool("isWet", default: true)
            _ = settings.int("coats", default: 2, in: 1...10)
            _ = settings.optionalInt("bytes", in: 0...Int.max)
            _ = settings.double("share", default: 0.5, in: 0...1)
            _ = settings.seconds("dry", default: .milliseconds(1500))
            _ = settings.optionalSeconds("wait", orZero: true)
            _ = settings.strings("tools")
            _ = settings.headers("fields")
            _ = settings.list("layers")
            settings.refuse("brush", because: "there is none")
        }
        #expect(
            found == [
                "text": "a string", "name": "a string!",
                "grit": "an integer from 1 to 9!", "rest": "seconds, above 0!",
                "colour": "`\"blue\"` or `\"red\"` = \"red\"",
                "isWet": "true or false = true", "coats": "an integer from 1 to 10 = 2",
                "bytes": "an integer from 0", "share": "a number from 0 to 1 = 0.5",
                "dry": "seconds, above 0 = 1.5", "wait": "seconds, 0 or more",
                "tools": "a list of strings", "fields": "header fields",
                "layers": "a list of values",
            ])
    }

    @Test("The members of an object are read though it is missing, those of a list in the example")
    func members() throws {
        let description = PartDescription(
            "", example: #"{"use": "paint", "layers": [{"coats": 1}, {"colour": "red"}]}"#)
        let registry = registry(description) { settings in
            if let pot = settings.object("pot") {
                _ = pot.int("litres", default: 1, in: 1...9)
                pot.finish()
            }
            for (index, value) in (settings.list("layers") ?? []).enumerated() {
                let layer = settings.nested(value.object ?? [:], at: "layers[\(index)]")
                _ = layer.int("coats", default: 2, in: 1...9)
                _ = layer.string("colour")
                layer.finish()
            }
        }
        let part = try #require(registry.gateReferences.first)
        #expect(
            part.settings.map { "\($0.name): \($0.type.words)" } == [
                "pot: an object", "pot.litres: an integer from 1 to 9",
                "layers: a list of objects", "layers.coats: an integer from 1 to 9",
                "layers.colour: a string",
            ])
        let schema = registry.schema()["$defs"]?["gate-paint"]?["properties"]
        #expect(schema?["pot"]?["properties"]?["litres"]?["maximum"] == 9)
        #expect(schema?["layers"]?["items"]?["properties"]?["coats"]?["default"] == 2)
        #expect(schema?["layers"]?["items"]?["additionalProperties"] == false)
    }

    @Test("A check does not read the members of an object that is missing")
    func missingObject() throws {
        let registry = registry(nil) { settings in
            #expect(settings.object("pot") == nil)
        }
        #expect(
            try StackFile(["stack": [["use": "paint"]], "transport": .null]).check(with: registry)
                .map(\.path) == ["transport"])
    }

    @Test("An object that contains one of its own kind comes to an end")
    func recursion() {
        @Sendable func read(_ settings: Settings) {
            _ = settings.string("name")
            settings.object("inner").map(read)
        }
        #expect(settings(read).count <= 12)
    }

    @Test("A raw value has the type that is described, and is a gap without one")
    func raw() {
        @Sendable func read(_ settings: Settings) { _ = settings.value("size") }
        #expect(settings(read) == ["size": "any value"])
        let vague = registry(PartDescription("Paints.", settings: ["size": "How large."]), read)
        #expect(
            vague.checkReference().map(\.description) == [
                "gate paint.size: the reads of the factory do not show the type; describe the type"
            ])
        let type = SettingType.either(.integer(1...9), .choice(["all"]))
        let exact = registry(
            PartDescription("Paints.", settings: ["size": .init("How large.", type: type)]), read)
        #expect(exact.checkReference() == [])
        #expect(exact.reference().contains("an integer from 1 to 9, or `\"all\"`"))
    }

    @Test("What a description lacks or says wrongly is found")
    func gaps() {
        let description = PartDescription(
            "Paints.",
            settings: [
                "coats": .init("How often.", default: 3), "colur": "The colour.",
                "coats": "How often.",
            ],
            example: #"{"use": "paint", "coats": 99}"#)
        let issues = registry(description) { settings in
            _ = settings.int("coats", default: 2, in: 1...9)
            _ = settings.string("colour")
        }
        .checkReference().map(\.description)
        #expect(
            issues == [
                "gate paint.coats: the example is refused: found 99; expected an integer from 1 to 9",
                "gate paint.colur: the setting is described, but nothing reads it",
                "gate paint.coats: the setting is described twice",
                "gate paint.colour: the setting has no description",
                "gate paint.coats: the default is described as 3, but read as 2",
            ])
        let bare = registry(nil) { _ in }.checkReference().map(\.description)
        #expect(bare == ["gate paint: the part has no description"])
        for example in ["{", "[]", #"{"use": "print"}"#] {
            let issues = registry(PartDescription("Paints.", example: example)) { _ in }
                .checkReference()
            #expect(issues.count == 1 && issues[0].message.hasPrefix("the example "), "\(example)")
        }
    }

    @Test("A factory that throws is shown with what it had read")
    func throwing() {
        var registry = Registry()
        registry.register(transport: "road") { settings in
            _ = settings.int("lanes", default: 2, in: 1...9)
            throw ClientError(.configuration, "it is closed")
        }
        #expect(registry.reference().contains("| `lanes` | an integer from 1 to 9 | `2` |"))
        #expect(registry.checkReference().contains { $0.message.contains("it is closed") })
    }

    @Test("An earlier name means the same gate, and the reference shows it once")
    func alias() throws {
        var registry = registry(PartDescription("Paints.")) { _ = $0.string("colour") }
        registry.register(transport: "mock") { MockTransport(settings: $0) }
        registry.register(gate: "dye", sameAs: "paint")
        let file: JSONValue = ["stack": [["use": "dye", "colour": "red"]]]
        #expect(try StackFile(file).check(with: registry) == [])
        #expect(registry.gateReferences.map(\.name) == ["paint"])
        #expect(registry.reference().contains("In code: `StackFilesTests.ReferenceTests.Quiet`."))
        #expect(registry.reference().contains("`dye`, is still accepted"))
        #expect(registry.schema()["$defs"]?["gate-dye"]?["deprecated"] == true)
        registry.register(gate: "dye") { _ in Quiet() }
        #expect(registry.gateReferences.map(\.name) == ["dye", "paint"])
        #expect(!registry.reference().contains("is still accepted"))
    }

    @Test("An earlier name means the gate that replaces the first one")
    func aliasOfReplaced() throws {
        var registry = registry(PartDescription("Paints.")) { _ = $0.string("colour") }
        registry.register(transport: "mock") { MockTransport(settings: $0) }
        registry.register(gate: "dye", sameAs: "paint")
        registry.register(gate: "paint") { settings in
            _ = settings.string("shade")
            return Quiet()
        }
        let file: JSONValue = ["stack": [["use": "dye", "shade": "dark"]]]
        #expect(try StackFile(file).check(with: registry) == [])
        let old: JSONValue = ["stack": [["use": "dye", "colour": "red"]]]
        #expect(try StackFile(old).check(with: registry).map(\.path) == ["stack[0].colour"])
        #expect(registry.schema()["$defs"]?["gate-dye"]?["properties"]?["shade"] != nil)
        #expect(registry.gateNames == ["dye", "paint"])
        // A gate that had the name before is gone.
        registry.register(gate: "tint") { _ in Quiet() }
        registry.register(gate: "tint", sameAs: "paint")
        #expect(registry.gateReferences.map(\.aliases) == [["dye", "tint"]])
    }

    @Test("To ask whether a setting is null is to read it")
    func null() throws {
        #expect(settings { _ = $0.isNull("budget") } == ["budget": "any value"])
        let registry = registry(PartDescription("Paints.")) { _ = $0.isNull("budget") }
        #expect(
            registry.checkReference().map(\.description).contains(
                "gate paint.budget: the setting has no description"))
    }

    @Test("A stack file may name its schema, by a string")
    func schemaName() throws {
        var registry = Registry()
        registry.register(transport: "mock") { MockTransport(settings: $0) }
        let file = try StackFile(["$schema": "./stack.schema.json", "stack": []])
        #expect(file.check(with: registry) == [])
        let wrong = try StackFile(["$schema": ["env": "PATH"], "stack": []]).check(with: registry)
        #expect(wrong.map(\.description) == ["$schema: found an object; expected a string"])
    }
}
