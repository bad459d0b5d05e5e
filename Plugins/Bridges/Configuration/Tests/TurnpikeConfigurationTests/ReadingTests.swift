// SPDX-License-Identifier: Apache-2.0

import Configuration
import Foundation
import Testing
import Turnpike
import TurnpikeSharedStateStackFiles
import TurnpikeStackFiles
import TurnpikeTrafficStackFiles

@testable import TurnpikeConfiguration

@Suite("A stack from a configuration")
struct ReadingTests {
    private static let json = """
        {"baseURL": "https://api.example.com/v1/", "transport": {"use": "mock"},
         "stack": [{"use": "deadline", "seconds": 2.5, "id": "deadline"},
                   {"use": "retry", "attempts": 4, "statuses": [429, 503], "id": "retry"}]}
        """

    private func expected() throws -> StackFile { try StackFile(parsing: Data(Self.json.utf8)) }

    @Test("Is the JSON of one key")
    func text() throws {
        #expect(
            try StackFile(config(["stack": .init(.string(Self.json), isSecret: true)]))
                == expected())
        let scoped = config(["up.stack": .init(.string(Self.json), isSecret: false)])
        #expect(try StackFile(scoped.scoped(to: "up")) == expected())
    }

    @Test("Is a file whose path one key holds")
    func path() throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.json, to: "stack.json")
        let reader = config([
            "stackFile": .init(.string(folder.path("stack.json")), isSecret: false)
        ])
        #expect(try StackFile(reader) == expected())
    }

    @Test("Is a list of gates with a scope for each, in memory")
    func scopes() throws {
        let reader = config([
            "gates": names("deadline", "retry"), "baseURL": "https://api.example.com/v1/",
            "transport.use": "mock", "gate.deadline.seconds": 2.5, "gate.retry.attempts": 4,
            "gate.retry.statuses": .init(.intArray([429, 503]), isSecret: false),
        ])
        #expect(try StackFile(reader) == expected())
    }

    @Test("Is a list of gates in environment variables")
    func environment() throws {
        let reader = ConfigReader(
            provider: EnvironmentVariablesProvider(environmentVariables: [
                "UP_GATES": "deadline, retry", "UP_BASE_URL": "https://api.example.com/v1/",
                "UP_TRANSPORT_USE": "mock", "UP_GATE_DEADLINE_SECONDS": "2.5",
                "UP_GATE_RETRY_ATTEMPTS": "4", "UP_GATE_RETRY_STATUSES": "429,503",
            ]))
        #expect(try StackFile(reader.scoped(to: "up")) == expected())
    }

    @Test("Is a list of gates in a JSON file")
    func file() async throws {
        let reader = try await jsonFile(
            """
            {"gates": ["deadline", "retry"], "baseURL": "https://api.example.com/v1/",
             "transport": {"use": "mock"},
             "gate": {"deadline": {"seconds": 2.5},
                      "retry": {"attempts": 4, "statuses": [429, 503]}}}
            """)
        #expect(try StackFile(reader) == expected())
    }

    @Test("Two gates of one name have scopes of their own")
    func twice() throws {
        let reader = config([
            "gates": names("attemptTimeout/long", "attemptTimeout"),
            "gate.long.seconds": 50, "gate.attemptTimeout.seconds": 5,
        ])
        let file = try JSONValue(
            parsing: """
                {"stack": [{"use": "attemptTimeout", "seconds": 50, "id": "long"},
                           {"use": "attemptTimeout", "seconds": 5, "id": "attemptTimeout"}]}
                """)
        let read = try? StackFile(reader)
        #expect(try read == StackFile(file))
        #expect(throws: ClientError.self) {
            try StackFile(config(["gates": names("limits", "limits")]))
        }
    }

    @Test("A name or a list is what a text says", arguments: ["accept", "a/b, text/*"])
    func nameOrList(_ text: String) throws {
        let reader = ConfigReader(
            provider: EnvironmentVariablesProvider(environmentVariables: [
                "GATES": "validate", "GATE_VALIDATE_CONTENT_TYPE": text,
            ]))
        let type: JSONValue = text == "accept" ? "accept" : ["a/b", "text/*"]
        let file: JSONValue = [
            "stack": [["use": "validate", "contentType": type, "id": "validate"]]
        ]
        #expect(try StackFile(reader) == StackFile(file))
    }

    /// A registry with the standard names, the store in memory, and the traffic gates.
    private static let registry: Registry = {
        var registry = Registry.standard
        registry.registerSharedState()
        registry.registerTraffic()
        return registry
    }()

    /// The examples of all gates, transports and stores in the registry.
    static let examples: [JSONValue] = {
        let definitions = registry.schema()["$defs"]?.object ?? [:]
        return definitions.compactMap { $0.value["examples"]?[0] }
    }()

    @Test(
        "Reads each setting that a gate, a transport or shared state has", arguments: examples,
        [true, false])
    func everySetting(_ example: JSONValue, _ isText: Bool) throws {
        let registry = Self.registry
        let schema = registry.schema()
        let name = try #require(example["use"]?.string)
        let kind = try #require(
            ["gate", "transport", "shared"].first { schema["$defs"]?["\($0)-\(name)"] != nil })
        let isGate = kind == "gate"
        let definition = try #require(schema["$defs"]?["\(kind)-\(name)"]?["properties"]?.object)
        var part = try #require(Self.plain(example).object)
        var values: [AbsoluteConfigKey: ConfigContent] = [:]
        Self.write(part, definition, isGate ? ["gate", name] : [kind], into: &values)
        // The mock has every capability that a gate may need.
        values["transport.use"] = .string("mock")
        values["gates"] = .stringArray(isGate ? [name] : [])
        var expected: JSONObject = ["transport": ["use": "mock"]]
        switch kind {
        case "gate":
            part["id"] = .string(name)
            expected["stack"] = [.object(part)]
            if part["shared"] != nil {
                values["shared.use"] = .string("memory")
                expected["shared"] = ["use": "memory"]
            }
        case "transport":
            values["transport.use"] = .string(name)
            expected["transport"] = .object(part)
            expected["stack"] = []
        default:
            values["shared.use"] = .string(name)
            values["gates"] = .stringArray(["retry"])
            values["gate.retry.shared"] = .bool(true)
            expected["shared"] = .object(part)
            expected["stack"] = [["use": "retry", "shared": true, "id": "retry"]]
        }

        let reader: ConfigReader
        if isText, isGate {
            reader = ConfigReader(
                provider: EnvironmentVariablesProvider(
                    environmentVariables: Self.variables(values), arraySeparator: "\n"))
        } else {
            reader = config(values.mapValues { ConfigValue($0, isSecret: false) })
        }
        let read = try StackFile(from: reader.snapshot(), registry: registry)
        #expect(try read == StackFile(.object(expected)))
    }

    // In a configuration, the text itself replaces a reference to the environment.
    private static func plain(_ value: JSONValue) -> JSONValue {
        if let array = value.array { return .array(array.map(plain)) }
        guard let object = value.object else { return value }
        if object.count == 1, (object["env"] ?? object["file"]) != nil { return "text" }
        return .object(JSONObject(object.map { ($0.name, plain($0.value)) }))
    }

    private static func write(
        _ object: JSONObject, _ schema: JSONObject, _ key: [String],
        into values: inout [AbsoluteConfigKey: ConfigContent]
    ) {
        for member in object where member.name != "use" && member.name != "id" {
            let forms = SettingForm.forms(of: schema[member.name] ?? [:])
            let place = key + [member.name]
            let content: ConfigContent
            switch member.value {
            case .object(let inner):
                if case .scope(let members) = forms.first {
                    let known = JSONObject(members.map { ($0.name, $0.value) })
                    write(inner, known, place, into: &values)
                    continue
                }
                content = .string(member.value.description)
            case .bool(let bool): content = .bool(bool)
            case .number(let number):
                content = number.int.map { .int($0) } ?? .double(number.double)
            case .string(let text):
                content = .string(forms.contains(.json) ? member.value.description : text)
            case .array(let elements):
                if forms.contains(.integers) {
                    content = .intArray(elements.compactMap(\.int))
                } else if forms.contains(.headers) {
                    content = .stringArray(
                        elements.map { "\($0[0]?.string ?? ""): \($0[1]?.string ?? "")" })
                } else if forms.contains(.texts) || forms.contains(.choices) {
                    content = .stringArray(elements.compactMap(\.string))
                } else {
                    content = .string(member.value.description)
                }
            case .null: continue
            }
            values[AbsoluteConfigKey(place)] = content
        }
    }

    // Writes keys and values in the form of the environment's provider.
    private static func variables(
        _ values: [AbsoluteConfigKey: ConfigContent]
    ) -> [String: String] {
        var variables: [String: String] = [:]
        for (key, content) in values {
            let name = key.components.map { component in
                let wasLower = [false] + component.map(\.isLowercase)
                return zip(component, wasLower).map { letter, wasLower in
                    (wasLower && letter.isUppercase ? "_" : "") + letter.uppercased()
                }.joined()
            }.joined(separator: "_")
            variables[name] =
                switch content {
                case .bool(let bool): "\(bool)"
                case .int(let int): "\(int)"
                case .double(let double): "\(double)"
                case .string(let text): text
                case .stringArray(let texts): texts.joined(separator: "\n")
                case .intArray(let numbers): numbers.map(String.init).joined(separator: "\n")
                default: ""
                }
        }
        return variables
    }
}
