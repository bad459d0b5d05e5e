// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeInspection

import TurnpikeTraffic
@testable import TurnpikeCommandLine
@testable import TurnpikeCore
@testable import TurnpikeStackFiles

/// The article, the schema, and what gates and transports read of a stack file.
@Suite("The reference of stack files")
struct StackFileReferenceTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../..").standardizedFileURL
    private static let registry = Registry.commandLine
    private static let parts =
        registry.transportReferences + registry.gateReferences + registry.sharedReferences
    private static let schema = SchemaCheck(root: registry.schema())

    @Test("Each setting that is read is described, and no other; each example is accepted")
    func complete() {
        #expect(Self.registry.checkReference().map(\.description) == [])
        #expect(!Self.parts.isEmpty)
    }

    @Test("The article is what the command prints")
    func article() throws {
        let path = "Sources/StackFiles/Documentation.docc/StackFileReference.md"
        let text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
        #expect(
            text == CheckCommand.reference() + "\n",
            "run: swift run turnpike check --reference >\(path)")
    }

    @Test("The command prints the schema, and nothing else")
    func prints() throws {
        let terminal = FakeTerminal()
        #expect(CheckCommand.run(["--schema"], terminal.terminal()) == 0)
        #expect(try JSONValue(parsing: terminal.text) == Self.schema.root)
        let other = FakeTerminal()
        #expect(CheckCommand.run(["--reference"], other.terminal()) == 0)
        #expect(other.text == CheckCommand.reference() + "\n")
        let wrong = FakeTerminal()
        #expect(CheckCommand.run(["--schema", "stack.json"], wrong.terminal()) == ExitCode.usage)
        #expect(wrong.text.isEmpty && wrong.messages.contains("--schema"))
    }

    @Test("Each stack file of the documentation fits the schema, and is accepted")
    func documentation() throws {
        let files = try #require(
            FileManager.default.enumerator(at: Self.root, includingPropertiesForKeys: nil))
        var count = 0
        while let file = files.nextObject() as? URL {
            if [".build", ".git"].contains(file.lastPathComponent) { files.skipDescendants() }
            guard file.pathExtension == "md" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            for block in text.components(separatedBy: "```json\n").dropFirst() {
                let json = block.components(separatedBy: "```")[0]
                guard let value = try? JSONValue(parsing: json), value["stack"] != nil else {
                    continue
                }
                count += 1
                #expect(Self.schema.mistakes(in: value) == [], "\(file.lastPathComponent)")
                #expect(try findings(of: value) == [], "\(file.lastPathComponent)")
            }
        }
        #expect(count >= 2)
    }

    private func findings(of file: JSONValue) throws -> [String] {
        let draft = try StackFile(file).parsed(with: Self.registry)
        return Stack(draft.gates.map(\.gate))
            // Which transport a machine needs is not what these files show.
            .lint(
                for: draft.transport ?? MockTransport([]),
                ignoring: draft.ignoredRules + ["server-ends-process"]
            )
            .map(\.description)
    }

    @Test("Each example fits the schema", arguments: parts.map(\.name))
    func examples(name: String) throws {
        for part in Self.parts where part.name == name {
            for name in [part.name] + part.aliases {
                var object = try example(part)
                object["use"] = .string(name)
                #expect(Self.schema.mistakes(in: file(part, object)) == [])
                object["nonsense"] = 1
                let place = place(part) + ".nonsense"
                #expect(Self.schema.mistakes(in: file(part, object)) == [place])
                #expect(Set(try loaded(file(part, object))) == [place])
            }
        }
    }

    @Test(
        "A file names its mistake where the schema does",
        arguments: [
            (["stak": []], "stak"), (["stack": 3], "stack"), (["stack": "none"], "stack"),
            (["stack": .null], "stack"), (["transport": .null], "transport"),
            (["transport": "curl"], "transport"), (["baseURL": 3], "baseURL"),
            (["$schema": 3], "$schema"), (["stack": [3]], "stack[0]"),
            (["stack": [["use": "retyr"]]], "stack[0].use"),
            (["stack": [["use": "retry", "id": 3]]], "stack[0].id"),
            (["stack": [["use": "rateLimit", "rules": [[:]]]]], "stack[0].rules[0].permits"),
            (["shared": .null], "shared"), (["shared": ["use": "memery"]], "shared.use"),
            (["transport": ["use": "mock", "id": "x"]], "transport.id"),
        ] as [(JSONValue, String)])
    func places(value: JSONValue, place: String) throws {
        #expect(Self.schema.mistakes(in: value) == [place])
        #expect(try loaded(value) == [place])
    }

    @Test("What editors add is accepted: the schema's name, and null for a baseURL")
    func accepted() throws {
        let value: JSONValue = ["$schema": "./stack.schema.json", "baseURL": .null, "stack": []]
        #expect(Self.schema.mistakes(in: value) == [])
        #expect(try loaded(value) == [])
    }

    // Places of the mistakes that the loader finds.
    private func loaded(_ value: JSONValue) throws -> [String] {
        try StackFile(value).check(with: Self.registry).filter { $0.kind == .mistake }.map(\.path)
    }

    // The example, with a text in place of each reference.
    private func example(_ part: PartReference) throws -> JSONObject {
        try #require(SettingSamples.plain(JSONValue(parsing: part.example)).object)
    }

    private func place(_ part: PartReference) -> String {
        part.kind == .gate ? "stack[0]" : part.kind.rawValue
    }

    private func file(_ part: PartReference, _ object: JSONObject) -> JSONValue {
        switch part.kind {
        case .gate where part.settings.contains { $0.name == "shared" }:
            ["stack": [.object(object)], "shared": ["use": "memory"]]
        case .gate: ["stack": [.object(object)]]
        case .transport: ["transport": .object(object)]
        case .shared: ["shared": .object(object), "stack": [["use": "retry", "shared": true]]]
        }
    }

    // MARK: Each setting

    @Test(
        "The schema accepts what the factory accepts, and, texts aside, nothing else",
        arguments: parts.flatMap { part in part.settings.map { (part.name, $0.name) } }
            .enumerated().filter { Runs.areAll || $0.offset.isMultiple(of: 4) }.map(\.element))
    func settings(name: String, setting: String) throws {
        let part = try #require(Self.parts.first { $0.name == name })
        let example = try example(part)
        let without = SettingSamples.setting(setting, of: .object(example), to: nil)
        for sample in SettingSamples.all(for: part, setting) {
            let changed = SettingSamples.setting(setting, of: .object(example), to: sample)
            let file = file(part, changed.object ?? [:])
            let place = SettingSamples.place(setting, in: changed, below: place(part))
            // A mistake within one of several types is told of the value as a whole.
            let isAllowed = !Self.schema.mistakes(in: file).contains {
                $0.hasPrefix(place) || place.hasPrefix($0 + ".")
            }
            let isRead = try !loaded(file).contains { $0.hasPrefix(place) }
            #expect(!isRead || isAllowed, "\(sample) is accepted, but the schema forbids it")
            // A setting may be left out only together with others.
            let isMissed =
                try sample == .null && !loaded(self.file(part, without.object ?? [:])).isEmpty
            if !SettingSamples.isDecidedByText(sample), !isMissed {
                #expect(isRead || !isAllowed, "\(sample) is refused, but the schema allows it")
            }
        }
    }

    @Test(
        "A default is what a gate does without the setting",
        arguments: registry.gateReferences.map(\.name))
    func defaults(name: String) throws {
        let part = try #require(Self.parts.first { $0.kind == .gate && $0.name == name })
        let example = try example(part)
        let required = Set(
            part.settings.filter(\.isRequired).map(\.name) + ["use", "token", "list", "perSecond"])
        let least = JSONObject(
            example.filter { required.contains($0.name) }.map { ($0.name, $0.value) })
        let bare = try content(of: .object(least))
        for setting in part.settings where !setting.name.contains(".") {
            guard let standard = setting.defaultValue else { continue }
            let same = SettingSamples.setting(setting.name, of: .object(least), to: standard)
            let difference = try content(of: same).difference(from: bare)
            #expect(difference.isEmpty, "\(setting.name): \(difference)")
        }
    }

    @Test("The defaults of an adaptive limit are those of a rule in code")
    func adaptive() throws {
        let part = try #require(Self.parts.first { $0.name == "concurrencyLimit" })
        let all = part.members(of: "adaptive")
        #expect(all.map(\.ownName) == ["initial", "min", "decrease", "pause", "latency"])
        #expect(all.last?.defaultValue == .bool(AdaptiveLimit().followsLatency))
        let members = all.dropLast()
        let rule = AdaptiveLimit()
        #expect(
            try members.map { try #require($0.defaultValue?.double) } == [
                Double(try #require(rule.initial)), Double(rule.min), rule.decrease,
                rule.pause / .seconds(1),
            ])
    }

    // The constants that a gate is made of, as far as reflection shows them.
    private func content(of gate: JSONValue) throws -> [String] {
        let file: JSONValue = ["transport": ["use": "mock"], "stack": [gate]]
        let parts = try StackFile(file)
            .build(with: Self.registry, state: ReloadableState())
        var text = ""
        dump(parts.stack.gates, to: &text)
        // The elements of a set have no order, and addresses differ.
        return text.replacing(/0x[0-9a-f]+/, with: "").split(separator: "\n").map(String.init)
            .sorted()
    }
}
