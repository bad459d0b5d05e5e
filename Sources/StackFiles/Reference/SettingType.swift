// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The values that a setting in a stack file may have.
///
/// The typed methods of ``Settings`` define the type. If a factory reads the raw value, the
/// description names the type:
///
/// ```swift
/// settings: ["ports": .init("The ports.", type: .list(of: .integer(1...65_535)))]
/// ```
///
/// Each setting that is not required may also be null, which means the same as a missing setting.
public struct SettingType: Hashable, Sendable {
    indirect enum Form: Hashable, Sendable {
        case any, text, boolean, headers, object
        case integer(ClosedRange<Int>)
        case number(ClosedRange<Double>)
        case seconds(orZero: Bool)
        case choice([String])
        case list(SettingType)
        case pair(SettingType)
        case either([SettingType])
    }

    let form: Form

    private init(_ form: Form) { self.form = form }

    /// Any value.
    public static let any = SettingType(.any)
    /// A string, which may be a reference to the environment or a file.
    public static let string = SettingType(.text)
    /// True or false.
    public static let boolean = SettingType(.boolean)
    /// A list of pairs of a name and a value.
    public static let headers = SettingType(.headers)
    /// An object with further settings.
    public static let object = SettingType(.object)

    /// An integer within bounds.
    public static func integer(_ range: ClosedRange<Int>) -> SettingType { Self(.integer(range)) }

    /// A number within bounds.
    public static func number(_ range: ClosedRange<Double>) -> SettingType { Self(.number(range)) }

    /// A duration in seconds, which may be zero if `orZero` is true.
    public static func seconds(orZero: Bool = false) -> SettingType {
        Self(.seconds(orZero: orZero))
    }

    /// One of several strings.
    public static func choice(_ names: [String]) -> SettingType { Self(.choice(names)) }

    /// A list whose elements have one type.
    public static func list(of element: SettingType) -> SettingType { Self(.list(element)) }

    /// A list of two elements of one type.
    public static func pair(of element: SettingType) -> SettingType { Self(.pair(element)) }

    /// A value of one of several types.
    public static func either(_ types: SettingType...) -> SettingType { union(types) }

    static func union(_ types: [SettingType]) -> SettingType {
        var parts: [SettingType] = []
        for type in types {
            let inner = if case .either(let inner) = type.form { inner } else { [type] }
            for part in inner where !parts.contains(part) { parts.append(part) }
        }
        if parts.contains(.any) || parts.isEmpty { return .any }
        // The element type of a list is known only after a read of the elements.
        let isList = { (type: SettingType) in if case .list = type.form { true } else { false } }
        if parts.filter(isList).count > 1 { parts.removeAll { $0 == .list(of: .any) } }
        return parts.count == 1 ? parts[0] : Self(.either(parts))
    }
}

/// Records the names, types, bounds and defaults of the settings that a factory reads.
final class SettingReads {
    struct Read {
        var types: [SettingType] = []
        var defaultValue: JSONValue?
        var isRequired = false

        // The type that the reads have. If the factory read only the raw value, the type is any
        // type.
        var type: SettingType { .union(types) }
    }

    struct Refusal {
        let name: String
        let reason: String
    }

    private(set) var refusals: [Refusal] = []
    private(set) var names: [String] = []
    private var reads: [String: Read] = [:]

    subscript(name: String) -> Read? { reads[name] }

    // Records a read of the setting at a path. A read of the raw value has no type.
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

    /// Records that the value at a path, or each element of a list, is an object with settings.
    func noteObject(_ path: String) {
        note(path, path.hasSuffix("]") ? .list(of: .object) : .object)
    }

    func noteRefusal(_ path: String, _ reason: String) {
        let name = Self.name(path)
        if refusals.contains(where: { $0.name == name }) { return }
        refusals.append(Refusal(name: name, reason: reason))
    }

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

    // Removes the indices from a path: `responses[3].status` becomes `responses.status`.
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
