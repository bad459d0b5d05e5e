// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// A form in which a configuration can contain a setting of a stack file.
///
/// The forms follow from the schema of stack files (`Registry.schema()`).
enum SettingForm: Equatable {
    case boolean, integer, number
    /// One of several names, which are not secret. An empty list allows any name.
    case choice([String])
    case choices
    case text
    case integers, numbers, texts
    /// Header fields, each as `Name: value`.
    case headers
    /// An object whose members have a separate scope.
    case scope([JSONObject.Member])
    /// Any other value, as a string with JSON.
    case json

    static func forms(of schema: JSONValue) -> [SettingForm] {
        var forms: [SettingForm] = []
        for form in unordered(schema) where !forms.contains(form) { forms.append(form) }
        // A setting that may only be null is read too, because the check must report the reason for
        // a rejected value.
        return forms.isEmpty ? [.text] : forms.sorted { $0.rank < $1.rank }
    }

    private static func unordered(_ schema: JSONValue) -> [SettingForm] {
        if let reference = schema["$ref"]?.string {
            return switch reference {
            case "#/$defs/text": [.text]
            case "#/$defs/headers": [.headers]
            case "#/$defs/reference": []
            default: [.json]
            }
        }
        if let choices = schema["anyOf"]?.array { return choices.flatMap(unordered) }
        if let names = schema["enum"]?.array { return [.choice(names.compactMap(\.string))] }
        let types = schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? ""]
        return types.compactMap { form(of: $0, schema) }
    }

    private static func form(of type: String, _ schema: JSONValue) -> SettingForm? {
        switch type {
        case "null": nil
        case "boolean": .boolean
        case "integer": .integer
        case "number": .number
        case "string": .text
        case "array":
            list(of: schema["items"].map(forms) ?? [])
        case "object": schema["properties"]?.object.map { .scope(Array($0)) } ?? .json
        default: .json
        }
    }

    private static func list(of elements: [SettingForm]) -> SettingForm {
        guard elements.count == 1 else { return .json }
        return switch elements[0] {
        case .integer: .integers
        case .number: .numbers
        case .text: .texts
        case .choice: .choices
        default: .json
        }
    }

    // A provider of strings reads each value as a text, and some texts, such as yes, as Booleans.
    private var rank: Int {
        switch self {
        case .scope: 0
        case .choice: 1
        case .boolean: 2
        case .integer: 3
        case .number: 4
        case .integers: 5
        case .numbers: 6
        case .choices: 7
        case .texts: 8
        case .headers: 9
        case .text: 10
        case .json: 11
        }
    }

    /// Whether a value of this form or a wrong value in the same place may be a secret.
    var mayBeSecret: Bool {
        switch self {
        case .text, .texts, .headers, .json, .scope: true
        case .boolean, .integer, .number, .choice, .choices, .integers, .numbers: false
        }
    }

    var words: String {
        switch self {
        case .boolean: "true or false"
        case .integer: "an integer"
        case .number: "a number"
        case .choice, .text: "a string"
        case .integers: "integers"
        case .numbers: "numbers"
        case .choices, .texts: "strings"
        case .headers: "strings of the form \"Name: value\""
        case .scope: "a scope with settings"
        case .json: "a string with JSON"
        }
    }
}
