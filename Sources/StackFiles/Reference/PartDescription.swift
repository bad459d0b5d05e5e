// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// What a gate or a transport of a stack file does, for the reference and the schema of stack
/// files.
///
/// ```swift
/// registry.register(
///     gate: "tenant",
///     description: PartDescription(
///         "Names the tenant of each request.",
///         settings: ["name": "The tenant."],
///         example: #"{"use": "tenant", "name": "blue"}"#)
/// ) { settings in
///     TenantHeader(tenant: settings.required("name"))
/// }
/// ```
///
/// Types, bounds and defaults need no description: they are observed while the factory reads an
/// empty object and the example. ``Registry/checkReference()`` finds what a description lacks, or
/// says wrongly.
public struct PartDescription: Sendable {
    /// What the part does.
    public let summary: String
    /// The settings, in the order in which they are shown.
    public let settings: [(key: String, value: SettingDescription)]
    /// The JSON text of an example; if empty, the part is shown without settings.
    public let example: String

    /// Creates a description.
    /// - Parameters:
    ///   - summary: What the part does, in a sentence or two.
    ///   - settings: The settings by name. A member of an object has a path, `trust.pins`; so has a
    ///     member of each object of a list.
    ///   - example: The JSON text of an example, as it stands in a stack file. If empty, the part is
    ///     shown without settings.
    public init(
        _ summary: String, settings: KeyValuePairs<String, SettingDescription> = [:],
        example: String = ""
    ) {
        self.init(summary, settings: Array(settings), example: example)
    }

    /// Creates a description of a list of settings, which several parts may share.
    ///
    /// ```swift
    /// let shared: KeyValuePairs<String, SettingDescription> = ["region": "The region."]
    /// PartDescription("Names the tenant.", settings: shared + [("name", "The tenant.")])
    /// ```
    ///
    /// A dictionary is not accepted, because it has no order.
    /// - Parameters:
    ///   - summary: What the part does, in a sentence or two.
    ///   - settings: The settings by name, in the order in which they are shown.
    ///   - example: The JSON text of an example, as it stands in a stack file.
    public init(
        _ summary: String, settings: [(key: String, value: SettingDescription)],
        example: String = ""
    ) {
        self.summary = summary
        self.settings = settings
        self.example = example
    }
}

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
