// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Checks values against a JSON Schema: the part of draft 2020-12 that the schema of stack files
/// uses.
struct SchemaCheck {
    let root: JSONValue

    /// The places of the mistakes: `stack[0].limit`, empty for the value itself.
    ///
    /// A keyword that is not known here is a mistake of the schema, and is reported as one.
    func mistakes(in value: JSONValue) -> [String] { mistakes(value, root, "") }

    private static let annotations: Set<String> = [
        "$schema", "$defs", "title", "description", "default", "examples", "deprecated",
    ]

    private func mistakes(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
        guard let rules = schema.object else { return ["the schema at \(path) is no object"] }
        return rules.flatMap { rule -> [String] in
            Self.annotations.contains(rule.name)
                ? [] : mistakes(value, rule.name, rule.value, rules, path)
        }
    }

    private func mistakes(
        _ value: JSONValue, _ keyword: String, _ rule: JSONValue, _ all: JSONObject, _ path: String
    ) -> [String] {
        func isOK(_ schema: JSONValue) -> Bool { mistakes(value, schema, path).isEmpty }

        func when(_ isRight: Bool?) -> [String] { isRight == false ? [path] : [] }

        switch keyword {
        case "$ref": return mistakes(value, definition(rule.string ?? ""), path)
        case "allOf": return (rule.array ?? []).flatMap { mistakes(value, $0, path) }
        case "anyOf": return when((rule.array ?? []).contains(where: isOK))
        case "if":
            guard let then = all["then"], isOK(rule) else { return [] }
            return mistakes(value, then, path)
        case "then": return []
        case "type": return when((rule.array ?? [rule]).contains { Self.has(value, $0.string) })
        case "const": return when(value == rule)
        case "enum": return when(rule.array?.contains(value))
        case "minimum": return when(value.double.map { $0 >= rule.double ?? .nan })
        case "maximum": return when(value.double.map { $0 <= rule.double ?? .nan })
        case "exclusiveMinimum": return when(value.double.map { $0 > rule.double ?? .nan })
        case "minItems": return when(value.array.map { $0.count >= rule.int ?? .max })
        case "maxItems": return when(value.array.map { $0.count <= rule.int ?? .min })
        case "minProperties": return when(value.object.map { $0.count >= rule.int ?? .max })
        case "maxProperties": return when(value.object.map { $0.count <= rule.int ?? .min })
        case "items":
            return (value.array ?? []).enumerated().flatMap {
                mistakes($0.element, rule, "\(path)[\($0.offset)]")
            }
        case "properties":
            return (value.object ?? [:]).flatMap { member in
                rule[member.name].map { mistakes(member.value, $0, inner(path, member.name)) } ?? []
            }
        case "required":
            guard let object = value.object else { return [] }
            return (rule.array ?? []).compactMap(\.string).filter { object[$0] == nil }
                .map { inner(path, $0) }
        case "additionalProperties":
            let known = all["properties"]?.object ?? [:]
            let others = (value.object ?? [:]).filter { known[$0.name] == nil }
            return rule == false ? others.map { inner(path, $0.name) } : ["\(path): not false"]
        default: return ["\(path): unknown keyword \(keyword)"]
        }
    }

    private func inner(_ path: String, _ name: String) -> String {
        path.isEmpty ? name : "\(path).\(name)"
    }

    private func definition(_ reference: String) -> JSONValue {
        guard reference.hasPrefix("#/$defs/") else { return .null }
        return root["$defs"]?[String(reference.dropFirst("#/$defs/".count))] ?? .null
    }

    private static func has(_ value: JSONValue, _ type: String?) -> Bool {
        switch type {
        case "null": value == .null
        case "boolean": value.bool != nil
        case "string": value.string != nil
        case "array": value.array != nil
        case "object": value.object != nil
        case "number": value.double != nil
        case "integer": value.double.map { $0 == $0.rounded() } ?? false
        default: false
        }
    }
}
