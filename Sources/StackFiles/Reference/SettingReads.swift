// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Notes how a factory reads its settings: names, types, bounds and defaults.
final class SettingReads {
    /// How one setting was read.
    struct Read {
        var types: [SettingType] = []
        var defaultValue: JSONValue?
        var isRequired = false

        /// The type that the reads tell; any, if only the raw value was read.
        var type: SettingType { .union(types) }
    }

    /// A setting that the transport does not support.
    struct Refusal {
        let name: String
        let reason: String
    }

    private(set) var refusals: [Refusal] = []
    private(set) var names: [String] = []
    private var reads: [String: Read] = [:]

    subscript(name: String) -> Read? { reads[name] }

    /// Notes a read at a path; that of the raw value has no type.
    func note(
        _ path: String, _ type: SettingType? = nil, default value: JSONValue? = nil,
        isRequired: Bool = false
    ) {
        let name = Self.name(path)
        if reads[name] == nil { names.append(name) }
        var read = reads[name] ?? Read()
        if let type { read.types.append(type) }
        read.defaultValue = read.defaultValue ?? value
        read.isRequired = read.isRequired || isRequired
        reads[name] = read
    }

    /// Notes that the value at a path, or the element of a list, is an object with settings.
    func noteObject(_ path: String) {
        note(path, path.hasSuffix("]") ? .list(of: .object) : .object)
    }

    /// Notes that a setting is refused unless it is null.
    func noteRefusal(_ path: String, _ reason: String) {
        let name = Self.name(path)
        if refusals.contains(where: { $0.name == name }) { return }
        refusals.append(Refusal(name: name, reason: reason))
    }

    /// Adds the reads of another run of the same factory.
    func merge(_ other: SettingReads) {
        for refusal in other.refusals { noteRefusal(refusal.name, refusal.reason) }
        for name in other.names {
            guard let new = other.reads[name] else { continue }
            if let old = reads[name] {
                reads[name]?.types = [old.type, new.type]
                reads[name]?.defaultValue = old.defaultValue ?? new.defaultValue
                reads[name]?.isRequired = old.isRequired || new.isRequired
            } else {
                names.append(name)
                reads[name] = new
            }
        }
    }

    // `responses[3].status` is `responses.status`.
    private static func name(_ path: String) -> String {
        var name = ""
        var isIndex = false
        for character in path {
            if character == "[" { isIndex = true }
            if !isIndex { name.append(character) }
            if character == "]" { isIndex = false }
        }
        return name
    }
}
