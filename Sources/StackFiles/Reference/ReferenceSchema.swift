// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

struct ReferenceSchema {
    let transports: [PartReference]
    let gates: [PartReference]
    let shared: [PartReference]
    let stacks: [String]

    var root: JSONValue {
        var definitions: JSONObject = [
            "text": Self.text, "reference": Self.reference, "headers": Self.headers,
            "transport": choice(of: transports, "The transport, which sends the requests."),
            "gate": choice(of: gates, "A gate of the stack."),
        ]
        if !shared.isEmpty {
            definitions["shared"] = choice(of: shared, "The state that replicas share.")
        }
        for part in transports + gates + shared {
            for name in [part.name] + part.aliases {
                definitions[Self.definition(part.kind, name)] = schema(of: part, named: name)
            }
        }
        var root: JSONObject = [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Stack file",
            "description": "A client of Turnpike as data: base URL, transport and stack.",
            "type": "object",
            "properties": [
                "$schema": [
                    "type": "string",
                    "description": "The schema for completion in editors.",
                ],
                "baseURL": described(
                    Self.schema(of: .string, orNull: true),
                    "The base for relative URLs of requests."),
                "transport": ["$ref": "#/$defs/transport"],
                "stack": described(
                    [
                        "type": ["array", "string"], "items": ["$ref": "#/$defs/gate"],
                        "if": ["type": "string"],
                        "then": ["enum": .array(stacks.map { .string($0) })],
                    ], "The gates, outermost first, or the name of a stack."),
                "lint": Self.lint,
            ],
            "additionalProperties": false,
            "$defs": .object(definitions),
        ]
        if !shared.isEmpty, var properties = root["properties"]?.object {
            properties["shared"] = ["$ref": "#/$defs/shared"]
            root["properties"] = .object(properties)
        }
        return .object(root)
    }

    private static func definition(_ kind: PartReference.Kind, _ name: String) -> String {
        "\(kind.rawValue)-\(name)"
    }

    // With a condition on the name of the part, an editor reports the place of a mistake, and not
    // only that no part matches.
    private func choice(of parts: [PartReference], _ meaning: String) -> JSONValue {
        let names = parts.flatMap { part in ([part.name] + part.aliases).map { (part, $0) } }
        let constants = names.map { part, name -> JSONValue in
            part.summary.isEmpty
                ? ["const": .string(name)]
                : ["const": .string(name), "description": .string(Self.plain(part.summary))]
        }
        let rules = names.map { part, name -> JSONValue in
            [
                "if": [
                    "type": "object", "properties": ["use": ["const": .string(name)]],
                    "required": ["use"],
                ],
                "then": ["$ref": .string("#/$defs/\(Self.definition(part.kind, name))")],
            ]
        }
        return [
            "description": .string(meaning), "type": "object",
            "properties": ["use": ["anyOf": .array(constants)]], "required": ["use"],
            "allOf": .array(rules),
        ]
    }

    private func schema(of part: PartReference, named name: String) -> JSONValue {
        var members: JSONObject = ["use": ["const": .string(name)]]
        if part.kind == .gate {
            members["id"] = described(
                Self.schema(of: .string, orNull: true),
                "Identifies the state of the gate. No other gate has the same id.")
        }
        var value = object(part, at: "", members, required: ["use"])
        value["title"] = .string(name)
        if !part.summary.isEmpty { value["description"] = .string(Self.plain(part.summary)) }
        if let example = try? JSONValue(parsing: part.example) { value["examples"] = [example] }
        if name != part.name { value["deprecated"] = true }
        return .object(value)
    }

    private func object(
        _ part: PartReference, at path: String, _ first: JSONObject = [:],
        required: [JSONValue] = []
    ) -> JSONObject {
        var (members, required) = (first, required)
        for setting in part.members(of: path) {
            members[setting.ownName] = schema(of: setting, in: part)
            if setting.isRequired { required.append(.string(setting.ownName)) }
        }
        // If nothing is known about an object, the factory did not read the object.
        let isClosed = part.isComplete && !members.isEmpty
        for refusal in part.refused where PartReference.parent(of: refusal.name) == path {
            members[PartReference.ownName(of: refusal.name)] = described(
                ["type": "null"], refusal.reason)
        }
        var value: JSONObject = ["type": "object", "properties": .object(members)]
        if isClosed { value["additionalProperties"] = false }
        if !required.isEmpty { value["required"] = .array(required) }
        return value
    }

    private func schema(of setting: PartReference.Setting, in part: PartReference) -> JSONValue {
        let inner = object(part, at: setting.name)
        var value = Self.schema(of: setting.type, orNull: !setting.isRequired, members: inner)
        if let standard = setting.defaultValue { value = with(value, "default", standard) }
        return described(value, setting.meaning)
    }

    private func described(_ value: JSONValue, _ meaning: String) -> JSONValue {
        meaning.isEmpty ? value : with(value, "description", .string(Self.plain(meaning)))
    }

    private func with(_ value: JSONValue, _ name: String, _ member: JSONValue) -> JSONValue {
        var object = value.object ?? [:]
        object[name] = member
        return .object(object)
    }

    // Editors show neither DocC links nor the formatting of Markdown.
    private static func plain(_ text: String) -> String { text.replacing("`", with: "") }

    // MARK: Types

    private static func schema(
        of type: SettingType, orNull: Bool, members: JSONObject = [:]
    ) -> JSONValue {
        func simple(_ name: JSONValue, _ rules: JSONObject = [:]) -> JSONValue {
            var value: JSONObject = ["type": orNull ? [name, "null"] : name]
            for rule in rules { value[rule.name] = rule.value }
            return .object(value)
        }

        func any(of values: [JSONValue]) -> JSONValue {
            let all = orNull ? values + [["type": "null"]] : values
            return all.count == 1 ? all[0] : ["anyOf": .array(all)]
        }

        switch type.form {
        case .any: return [:]
        case .boolean: return simple("boolean")
        case .text: return any(of: [["$ref": "#/$defs/text"]])
        case .headers: return any(of: [["$ref": "#/$defs/headers"]])
        case .choice(let names):
            return any(of: [
                ["enum": .array(names.map { .string($0) })], ["$ref": "#/$defs/reference"],
            ])
        case .integer(let range):
            return simple(
                "integer",
                [
                    "minimum": .number(JSONNumber(range.lowerBound)),
                    "maximum": .number(JSONNumber(range.upperBound)),
                ])
        case .number(let range):
            return simple(
                "number",
                [
                    "minimum": JSONValue(shortest: range.lowerBound) ?? 0,
                    "maximum": JSONValue(shortest: range.upperBound) ?? 0,
                ])
        case .seconds(let orZero):
            return simple(
                "number",
                [orZero ? "minimum" : "exclusiveMinimum": 0, "maximum": 1_000_000_000])
        case .list(let element):
            return simple(
                "array", ["items": schema(of: element, orNull: false, members: members)])
        case .pair(let element):
            return simple(
                "array",
                [
                    "items": schema(of: element, orNull: false), "minItems": 2, "maxItems": 2,
                ])
        case .object:
            var rules = members
            rules["type"] = nil
            return simple("object", rules)
        case .either(let types):
            return any(of: types.map { schema(of: $0, orNull: false, members: members) })
        }
    }

    private static let lint: JSONValue = [
        "description": "The settings of the linter for this stack.",
        "type": ["object", "null"],
        "properties": [
            "ignore": [
                "description": "The ids of rules that do not apply to this stack.",
                "type": ["array", "null"], "items": ["$ref": "#/$defs/text"],
            ]
        ],
        "additionalProperties": false,
    ]

    private static let text: JSONValue = [
        "anyOf": [["type": "string"], ["$ref": "#/$defs/reference"]]
    ]

    private static let reference: JSONValue = [
        "description": "A string from an environment variable or a file, such as a secret.",
        "type": "object",
        "properties": [
            "env": ["type": "string", "description": "The name of an environment variable."],
            "file": ["type": "string", "description": "The path of a file with the string."],
        ],
        "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
    ]

    private static let headers: JSONValue = [
        "description": "Header fields. Each field is a pair of a name and a value.",
        "type": "array",
        "items": [
            "type": "array", "items": ["$ref": "#/$defs/text"], "minItems": 2, "maxItems": 2,
        ],
    ]
}
