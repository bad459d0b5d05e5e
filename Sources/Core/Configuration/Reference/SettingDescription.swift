// SPDX-License-Identifier: Apache-2.0

/// What a setting means, for the reference and the schema of stack files.
///
/// A string is enough for most settings: type, bounds and default are those that the factory reads
/// the setting with.
public struct SettingDescription: Sendable, ExpressibleByStringLiteral {
    /// What the setting means, as a sentence.
    public let meaning: String
    /// The type, or nil for the type that the factory reads.
    public let type: SettingType?
    /// The default, or nil for the default that the factory reads.
    public let defaultValue: JSONValue?
    /// Whether the part cannot do without it.
    public let isRequired: Bool

    /// Creates a description.
    /// - Parameters:
    ///   - meaning: What the setting means, as a sentence.
    ///   - type: The type, where the factory reads the raw value and so does not tell it.
    ///   - defaultValue: The default, where the read does not have it.
    ///   - isRequired: Whether the part cannot do without it, where the factory does not read it by
    ///     ``Settings/required(_:)``.
    public init(
        _ meaning: String, type: SettingType? = nil, default defaultValue: JSONValue? = nil,
        isRequired: Bool = false
    ) {
        self.meaning = meaning
        self.type = type
        self.defaultValue = defaultValue
        self.isRequired = isRequired
    }

    /// Creates a description of a meaning alone.
    public init(stringLiteral meaning: String) { self.init(meaning) }
}
