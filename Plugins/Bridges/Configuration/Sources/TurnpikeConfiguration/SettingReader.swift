// SPDX-License-Identifier: Apache-2.0

import Configuration
import Turnpike
import TurnpikeStackFiles

/// Reads the values of a schema from a configuration, and collects the mistakes.
struct SettingReader {
    let config: ConfigSnapshotReader
    private(set) var issues: [ConfigurationIssue] = []

    init(_ config: ConfigSnapshotReader) { self.config = config }

    mutating func add(_ message: String, at key: [String]) {
        issues.append(ConfigurationIssue(path: key.joined(separator: "."), message: message))
    }

    /// Returns the value at a key, or nil if there is no value.
    ///
    /// A value with an unknown form is returned unchanged. Later, the check of the stack file
    /// reports the expected form.
    mutating func value(_ schema: JSONValue, at key: [String]) -> JSONValue? {
        value(SettingForm.forms(of: schema), at: key)
    }

    mutating func value(_ forms: [SettingForm], at key: [String]) -> JSONValue? {
        let isSecret = forms.contains(where: \.mayBeSecret)
        for case .scope(let members) in forms {
            if let object = object(members, at: key) { return .object(object) }
        }
        // An integer is also a number, and is written without a fraction.
        let known: [SettingForm] = forms.flatMap { form -> [SettingForm] in
            switch form {
            case .scope: []
            case .number: [.integer, .number]
            case .numbers: [.integers, .numbers]
            default: [form]
            }
        }
        let others: [SettingForm] = [
            .text, .integer, .number, .boolean, .texts, .integers, .numbers,
        ]
        for form in known + others {
            switch read(form, key, isSecret) {
            case .found(let value): return value
            case .missing, .mistaken: return nil
            case .otherForm: continue
            }
        }
        let expected = forms.map(\.words).joined(separator: ", or ")
        add("found a value that cannot be read; expected \(expected)", at: key)
        return nil
    }

    mutating func object(_ members: [JSONObject.Member], at key: [String]) -> JSONObject? {
        var object = JSONObject()
        for member in members where member.name != "use" && member.name != "id" {
            object[member.name] = value(member.value, at: key + [member.name])
        }
        return object.isEmpty ? nil : object
    }

    private enum Finding {
        case found(JSONValue)
        case missing
        /// A value of another form, or a value that the provider could not read.
        case otherForm
        case mistaken
    }

    private mutating func read(_ form: SettingForm, _ path: [String], _ isSecret: Bool) -> Finding {
        let key = ConfigKey(path)
        do {
            switch form {
            case .boolean:
                let value = try config.requiredBool(forKey: key, isSecret: isSecret)
                return isOtherNumber(key, isSecret) ? .otherForm : .found(.bool(value))
            case .integer:
                let value = try config.requiredInt(forKey: key, isSecret: isSecret)
                return .found(.number(JSONNumber(value)))
            case .number:
                return found([try config.requiredDouble(forKey: key, isSecret: isSecret)]) { $0[0] }
            case .choice(let names):
                let name = try config.requiredString(forKey: key, isSecret: isSecret)
                return names.isEmpty || names.contains(name) ? .found(.string(name)) : .otherForm
            case .text:
                return .found(.string(try config.requiredString(forKey: key, isSecret: isSecret)))
            case .integers:
                let values = try config.requiredIntArray(forKey: key, isSecret: isSecret)
                return .found(.array(values.map { .number(JSONNumber($0)) }))
            case .numbers:
                let values = try config.requiredDoubleArray(forKey: key, isSecret: isSecret)
                return found(values) { .array($0) }
            case .choices, .texts:
                let values = try config.requiredStringArray(forKey: key, isSecret: isSecret)
                return .found(.array(values.map { .string($0) }))
            case .headers:
                return fields(
                    try config.requiredStringArray(forKey: key, isSecret: isSecret), at: path)
            case .json:
                return parsed(
                    try config.requiredString(forKey: key, isSecret: isSecret), at: path)
            case .scope: return .otherForm
            }
        } catch {
            return Self.isMissing(error) ? .missing : .otherForm
        }
    }

    private func isOtherNumber(_ key: ConfigKey, _ isSecret: Bool) -> Bool {
        if let integer = try? config.requiredInt(forKey: key, isSecret: isSecret) {
            return integer != 0 && integer != 1
        }
        return (try? config.requiredDouble(forKey: key, isSecret: isSecret)) != nil
    }

    // JSON has only finite numbers.
    private func found(
        _ values: [Double], _ make: ([JSONValue]) -> JSONValue
    ) -> Finding {
        let numbers = values.compactMap { JSONNumber($0).map { JSONValue.number($0) } }
        return numbers.count == values.count ? .found(make(numbers)) : .otherForm
    }

    private mutating func fields(_ lines: [String], at path: [String]) -> Finding {
        var pairs: [JSONValue] = []
        for (number, line) in lines.enumerated() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                add(
                    "found a field without a colon, number \(number + 1); expected Name: value",
                    at: path)
                return .mistaken
            }
            let value = String(parts[1].drop { $0 == " " || $0 == "\t" })
            pairs.append([.string(String(parts[0])), .string(value)])
        }
        return .found(.array(pairs))
    }

    private mutating func parsed(_ text: String, at path: [String]) -> Finding {
        do {
            return .found(try JSONValue(parsing: text))
        } catch {
            add("found a string that is not JSON: \(error)", at: path)
            return .mistaken
        }
    }

    // The library's error for a missing value is not public. If the library renames the case of
    // this error, each missing setting becomes a mistake. No wrong stack is created.
    static func isMissing(_ error: any Error) -> Bool {
        Mirror(reflecting: error).children.first?.label == "missingRequiredConfigValue"
    }
}
