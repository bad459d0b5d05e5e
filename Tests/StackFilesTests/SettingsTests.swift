// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore
@testable import TurnpikeStackFiles

@Suite("Settings")
struct SettingsTests {
    enum Colour: String, CaseIterable { case red, green, blue }

    /// The mistakes that a reader finds in an object, a line each.
    private func mistakes(
        in object: JSONObject, _ read: (Settings) -> Void
    ) -> [String] {
        do {
            try Settings.read(object) { read($0) }
            return []
        } catch {
            let message = (error as? ClientError)?.message ?? "\(error)"
            return message.split(separator: "\n").map(String.init)
        }
    }

    @Test("Values are read unchanged; missing ones and null give the default")
    func values() throws {
        let object: JSONObject = [
            "text": "a", "int": 3, "double": 0.5, "bool": true, "seconds": 1.5, "choice": "green",
            "list": ["x", "y"], "headers": [["A", "1"]], "object": ["inner": 1], "null": .null,
        ]
        try Settings.read(object) { settings in
            #expect(settings.string("text") == "a")
            #expect(settings.required("text") == "a")
            #expect(settings.requiredBool("bool"))
            #expect(settings.requiredInt("int", in: 0...5) == 3)
            #expect(settings.requiredDouble("double", in: 0...1) == 0.5)
            #expect(settings.requiredSeconds("seconds") == .seconds(1.5))
            #expect(settings.requiredChoice("choice", of: Colour.self) == .green)
            #expect(settings.requiredStrings("list") == ["x", "y"])
            #expect(settings.requiredObject("object") != nil)
            #expect(settings.int("int", default: 9, in: 0...5) == 3)
            #expect(settings.double("double", default: 9, in: 0...1) == 0.5)
            #expect(settings.bool("bool", default: false))
            #expect(settings.seconds("seconds", default: .zero) == .seconds(1.5))
            #expect(settings.choice("choice", default: Colour.red) == .green)
            #expect(settings.strings("list") == ["x", "y"])
            #expect(settings.headers("headers")["A"] == "1")
            let inner = settings.object("object")
            #expect(inner?.int("inner", default: 0, in: 0...9) == 1)
            inner?.finish()
            #expect(settings.isNull("null"))
            #expect(settings.string("null") == nil)
            #expect(settings.int("null", default: 7, in: 0...9) == 7)
            #expect(settings.choice("none", default: Colour.blue) == .blue)
            #expect(settings.strings("none").isEmpty)
            #expect(settings.optionalStrings("none") == nil)
            #expect(settings.object("none") == nil)
            #expect(settings.headers("none").isEmpty)
        }
    }

    @Test(
        "A mistake has its path, what was found and what was expected",
        arguments: [
            ("string", 3, "k: found a number; expected a string, {\"env\": …} or {\"file\": …}"),
            ("string", ["a": 1, "b": 2], "k: found an object; expected a string"),
            ("required", .null, "k: is missing; expected a string"),
            ("requiredBool", .null, "k: is missing; expected true or false"),
            ("requiredBool", 1, "k: found a number; expected true or false"),
            ("requiredInt", .null, "k: is missing; expected an integer from 1 to 5"),
            ("requiredInt", 6, "k: found 6; expected an integer from 1 to 5"),
            ("requiredDouble", .null, "k: is missing; expected a number from 0 to 1"),
            ("requiredSeconds", .null, "k: is missing; expected a number of seconds, above 0"),
            ("requiredSeconds", 0, "k: found 0; expected a number of seconds, above 0"),
            ("requiredChoice", .null, "k: is missing; expected one of blue, green, red"),
            ("requiredChoice", "gren", "k: \"gren\" is not known; did you mean \"green\"?"),
            ("requiredStrings", .null, "k: is missing; expected an array of strings"),
            ("requiredObject", .null, "k: is missing; expected an object"),
            ("int", "3", "k: found a string; expected an integer from 1 to 5"),
            ("int", 6, "k: found 6; expected an integer from 1 to 5"),
            ("int", 1.5, "k: found 1.5; expected an integer"),
            ("count", -1, "k: found -1; expected an integer of at least 0"),
            ("double", 2, "k: found 2; expected a number from 0 to 1"),
            ("bool", "true", "k: found a string; expected true or false"),
            ("seconds", 0, "k: found 0; expected a number of seconds, above 0"),
            ("seconds", 1e10, "k: found 10000000000.0; expected at most 1000000000 seconds"),
            ("orZero", -1, "k: found -1; expected a number of seconds, 0 or more"),
            ("choice", "gren", "k: \"gren\" is not known; did you mean \"green\"?"),
            ("choice", "mauve", "k: \"mauve\" is not known; allowed: blue, green, red"),
            ("strings", "a", "k: found a string; expected an array of strings"),
            ("strings", ["a", 1], "k[1]: found a number; expected a string"),
            ("list", [:], "k: found an object; expected an array"),
            ("object", [], "k: found an array; expected an object"),
            ("headers", [["A", "1"], ["B"]], "k[1]: expected a pair [name, value]"),
            ("headers", [["A", 1]], "k[0][1]: found a number"),
            ("headers", [["bad name", "1"]], "k[0]: "),
            ("headers", [["A", "a\nb"]], "k[0]: "),
        ] as [(String, JSONValue, String)])
    func mistake(kind: String, value: JSONValue, expected: String) {
        let lines = mistakes(in: ["k": value]) { settings in
            switch kind {
            case "string": _ = settings.string("k")
            case "required": _ = settings.required("k")
            case "requiredBool": _ = settings.requiredBool("k")
            case "requiredInt": _ = settings.requiredInt("k", in: 1...5)
            case "requiredDouble": _ = settings.requiredDouble("k", in: 0...1)
            case "requiredSeconds": _ = settings.requiredSeconds("k")
            case "requiredChoice": _ = settings.requiredChoice("k", of: Colour.self)
            case "requiredStrings": _ = settings.requiredStrings("k")
            case "requiredObject": _ = settings.requiredObject("k")
            case "int": _ = settings.int("k", default: 1, in: 1...5)
            case "count": _ = settings.optionalInt("k", in: 0...Int.max)
            case "double": _ = settings.double("k", default: 1, in: 0...1)
            case "bool": _ = settings.bool("k", default: true)
            case "seconds": _ = settings.seconds("k", default: .zero)
            case "orZero": _ = settings.optionalSeconds("k", orZero: true)
            case "choice": _ = settings.choice("k", default: Colour.red)
            case "strings": _ = settings.strings("k")
            case "list": _ = settings.list("k")
            case "headers": _ = settings.headers("k")
            default: _ = settings.object("k")
            }
        }
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix(expected) == true, "\(lines)")
    }

    @Test("All mistakes are reported at once, also nested ones and unknown keys")
    func all() {
        let lines = mistakes(in: ["a": 1, "b": ["c": "x", "cc": 1], "atempts": 3]) { settings in
            _ = settings.string("a")
            let inner = settings.object("b")
            _ = inner?.int("c", default: 0, in: 0...1)
            inner?.finish()
            _ = settings.int("attempts", default: 1, in: 1...2)
        }
        #expect(lines.count == 4)
        #expect(lines.contains { $0.hasPrefix("a: ") })
        #expect(lines.contains { $0.hasPrefix("b.c: ") })
        #expect(lines.contains("b.cc: there is no such setting; did you mean \"c\"?"))
        #expect(lines.contains("atempts: there is no such setting; did you mean \"attempts\"?"))
    }

    @Test("A string in the wrong place is not shown, because it may be a secret")
    func secrets() {
        let lines = mistakes(in: ["seconds": "hunter2", "list": "hunter2"]) { settings in
            _ = settings.seconds("seconds", default: .zero)
            _ = settings.list("list")
        }
        #expect(lines.count == 2)
        #expect(!lines.joined().contains("hunter2"))
    }

    @Test("A string may come from the environment or from a file")
    func references() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        for (content, expected) in [("s3cret\n", "s3cret"), ("a\r\n", "a"), ("b\n\n", "b\n")] {
            try Data(content.utf8).write(to: file)
            try Settings.read(["k": ["file": .string(file.path())]]) { settings in
                #expect(settings.string("k") == expected)
            }
        }
        let (name, value) = try #require(ProcessInfo.processInfo.environment.first)
        try Settings.read(["k": [["env": .string(name)]]]) { settings in
            #expect(settings.strings("k") == [value])
        }
    }

    @Test("A reference to a missing variable or file is reported by its name")
    func brokenReferences() throws {
        let lines = mistakes(
            in: ["a": ["env": "TURNPIKE_NOT_SET"], "b": ["file": "/no/such/file"]]
        ) { settings in
            _ = settings.string("a")
            _ = settings.string("b")
        }
        #expect(lines.contains("a: the environment variable TURNPIKE_NOT_SET is not set"))
        #expect(lines.contains("b: the file /no/such/file cannot be read as text"))
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try Data([0xFF, 0x00]).write(to: file)
        let binary = mistakes(in: ["k": ["file": .string(file.path())]]) { _ = $0.string("k") }
        #expect(binary.first?.contains("cannot be read as text") == true)
    }

    @Test("A setting that the transport does not support is another kind of mistake")
    func unsupported() {
        let error = #expect(throws: ClientError.self) {
            try Settings.read(["proxy": "x", "other": .null]) { settings in
                settings.refuse("proxy", "other", because: "there is none")
                _ = settings.value("other")
            }
        }
        #expect(error?.code == .unsupported)
        #expect(error?.message == "proxy: there is none")
    }
}
