// SPDX-License-Identifier: Apache-2.0

import Configuration
import Testing
import Turnpike
import TurnpikeStackFiles

@testable import TurnpikeConfiguration

/// JSON files of swift-configuration convert between numbers and Booleans.
@Suite("Kinds of values")
struct KindTests {
    private func redirect(_ value: String) async throws -> StackFile {
        let reader = try await jsonFile(
            #"{"gates": ["redirect"], "gate": {"redirect": {"allowDowngrade": \#(value)}}}"#)
        return try StackFile(reader)
    }

    private func gate(_ name: JSONValue, _ settings: JSONObject) throws -> StackFile {
        var gate = settings
        gate["use"] = name
        gate["id"] = name
        return try StackFile(["stack": [.object(gate)]])
    }

    @Test(
        "A number is no Boolean in a JSON file",
        arguments: ["2", "-1", "0.5", "1e300", "9007199254740993", #""yes""#])
    func number(_ value: String) async throws {
        let error = try await #require(throws: ClientError.self) { try await redirect(value) }
        #expect(error.code == .configuration)
        let kind = value.hasPrefix("\"") ? "string" : "number"
        #expect(
            error.message.contains(
                "gate.redirect.allowDowngrade: found a \(kind); expected true or false"),
            "\(error.message)")
    }

    @Test(
        "A Boolean is one in a JSON file, and so are 0 and 1",
        arguments: [("true", true), ("false", false), ("1", true), ("0", false)])
    func boolean(_ value: String, _ expected: Bool) async throws {
        let file = try gate("redirect", ["allowDowngrade": .bool(expected)])
        #expect(try await redirect(value) == file)
    }

    @Test("An environment variable has the words of its provider for Booleans")
    func words() throws {
        for (text, expected) in [("yes", true), ("0", false), ("TRUE", true)] {
            let reader = ConfigReader(
                provider: EnvironmentVariablesProvider(environmentVariables: [
                    "GATES": "redirect", "GATE_REDIRECT_ALLOW_DOWNGRADE": text,
                ]))
            let file = try gate("redirect", ["allowDowngrade": .bool(expected)])
            #expect(try StackFile(reader) == file)
        }
    }

    @Test("A Boolean above a number counts")
    func providers() async throws {
        let file = try await jsonFile(#"{"key": 2}"#)
        let above = InMemoryProvider(values: ["key": true])
        #expect(value(["type": "boolean"], ConfigReader(provider: above)) == true)
        #expect(value(["type": "boolean"], file) == 2)
        let variables = EnvironmentVariablesProvider(environmentVariables: ["KEY": "true"])
        for provider in [above, variables] as [any ConfigProvider] {
            let below = InMemoryProvider(values: ["key": 2])
            let both = ConfigReader(providers: [provider, below])
            #expect(value(["type": "boolean"], both) == true)
        }
    }

    private func value(_ schema: JSONValue, _ config: ConfigReader) -> JSONValue? {
        var reader = SettingReader(config.snapshot())
        return reader.value(schema, at: ["key"])
    }

    @Test("A word comes before a Boolean")
    func wordOrBoolean() async throws {
        let schema: JSONValue = ["anyOf": [["type": "boolean"], ["enum": ["automatic", "yes"]]]]
        let cases: [(String, JSONValue)] = [
            ("true", true), ("false", false), (#""yes""#, "yes"), (#""automatic""#, "automatic"),
            ("2", 2), ("0.5", 0.5),
        ]
        for (text, expected) in cases {
            let reader = try await jsonFile(#"{"key": \#(text)}"#)
            #expect(value(schema, reader) == expected, "\(text)")
        }
        let words: [(String, JSONValue)] = [("yes", "yes"), ("no", false), ("1", true)]
        for (text, expected) in words {
            let reader = ConfigReader(
                provider: EnvironmentVariablesProvider(environmentVariables: ["KEY": text]))
            #expect(value(schema, reader) == expected, "\(text)")
        }
    }

    @Test("A number is one where a Boolean may stand, too")
    func numberOrBoolean() async throws {
        let schema: JSONValue = ["type": ["boolean", "number"]]
        let cases: [(String, JSONValue)] = [
            ("true", true), ("2", 2), ("0.5", 0.5), ("-3", -3),
        ]
        for (text, expected) in cases {
            let reader = try await jsonFile(#"{"key": \#(text)}"#)
            #expect(value(schema, reader) == expected, "\(text)")
        }
    }

    // The library's JSON file does not keep the kind of a value, as the README describes.
    @Test("A Boolean is a number in a JSON file, but not in a stack file")
    func limit() async throws {
        let reader = try await jsonFile(
            #"{"gates": ["retry"], "gate": {"retry": {"attempts": true}}}"#)
        let file = try gate("retry", ["attempts": 1])
        #expect(try StackFile(reader) == file)
        let error = try #require(throws: ClientError.self) {
            try StackFile(config(["stack": #"{"stack": [{"use": "retry", "attempts": true}]}"#]))
        }
        #expect(error.message.contains("stack[0].attempts: found a Boolean; expected an integer"))
    }

    @Test("A null in a JSON file is no value, and one below it counts")
    func null() async throws {
        let nulls = try await jsonFile(
            #"{"gates": ["retry"], "gate": {"retry": {"attempts": null}}}"#)
        let file = try gate("retry", [:])
        #expect(try StackFile(nulls) == file)
        let below = InMemoryProvider(values: ["key": 3])
        let both = try await jsonFile(#"{"key": null}"#, over: below)
        #expect(value(["type": "integer"], both) == 3)
    }
}
