// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

@testable import TurnpikeStackFiles

/// Values that a setting may have or not.
enum SettingSamples {
    private static let general: [JSONValue] = [
        .null, true, false, -1, 0, 0.5, 1, 2, 100, 200, 99.5, 2_000_000_000, 1e12, 1e30, "", "x",
        "200", [], [1], [200], [0.5], [true], ["x"], [.null], [["X-A", "b"]], [["X-A", 1]],
        [["X-A"]], [[200, 299]], [[200, 250, 299]], [[1, 2]], [[]], [[:]], [:], ["x": 1],
        ["env": "PATH"], ["env": 3], ["env": "PATH", "file": "x"], ["status": 200],
        [["status": 200]], [["nonsense": 1]],
    ]

    /// Values of each kind, and those at the bounds of the setting.
    static func all(for part: PartReference, _ name: String) -> [JSONValue] {
        guard let setting = part.settings.first(where: { $0.name == name }) else { return general }
        return general + around(setting.type) + [setting.defaultValue].compactMap { $0 }
    }

    private static func around(_ type: SettingType) -> [JSONValue] {
        switch type.form {
        case .integer(let range):
            [range.lowerBound &- 1, range.lowerBound, range.upperBound, range.upperBound &+ 1]
                .map { .number(JSONNumber($0)) }
        case .number(let range):
            [
                range.lowerBound - 0.001, range.lowerBound, range.upperBound,
                range.upperBound + 0.001,
            ].compactMap { JSONValue(shortest: $0) }
        case .seconds: [1e9, 1_000_000_001, 1e-9]
        case .choice(let names): names.map { .string($0) } + [.string(names[0] + "x")]
        case .list(let element): around(element).map { [$0] }
        case .pair(let element): around(element).map { [$0, $0] }
        case .either(let types): types.flatMap(around)
        case .any, .text, .boolean, .headers, .object: []
        }
    }

    /// A value in which the setting at a path has another value; in a list, that of its first
    /// element.
    static func setting(_ path: String, of value: JSONValue, to new: JSONValue?) -> JSONValue {
        let names = path.split(separator: ".", maxSplits: 1).map(String.init)
        if let first = value.array?.first {
            return .array([setting(path, of: first, to: new)])
        }
        var object = value.object ?? [:]
        object[names[0]] =
            names.count == 1 ? new : setting(names[1], of: object[names[0]] ?? [:], to: new)
        return .object(object)
    }

    /// The place of the setting in a file.
    static func place(_ path: String, in value: JSONValue, below place: String) -> String {
        let names = path.split(separator: ".", maxSplits: 1).map(String.init)
        if value.array != nil, let first = value[0] {
            return self.place(path, in: first, below: place + "[0]")
        }
        let inner = "\(place).\(names[0])"
        return names.count == 1
            ? inner : self.place(names[1], in: value[names[0]] ?? [:], below: inner)
    }

    /// The value with a text in place of each reference.
    static func plain(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object)
        where object["env"] != nil || object["file"]?.string != nil && object.count == 1:
            "reference"
        case .object(let object):
            .object(JSONObject(object.map { ($0.name, plain($0.value)) }))
        case .array(let elements): .array(elements.map(plain))
        default: value
        }
    }

    /// Whether a factory may refuse the value for what its texts say.
    static func isDecidedByText(_ value: JSONValue) -> Bool {
        switch value {
        case .string: true
        case .array(let elements): elements.isEmpty || elements.contains(where: isDecidedByText)
        case .object(let object): object.contains { isDecidedByText($0.value) }
        case .null, .bool, .number: false
        }
    }
}
