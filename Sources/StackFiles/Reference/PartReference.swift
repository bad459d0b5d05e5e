// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// A gate, a transport or shared state in the reference, with the description and the reads of the
/// factory.
struct PartReference {
    enum Kind: String {
        case gate, transport, shared
    }

    struct Setting {
        /// The path within the part, such as `limit` or `trust.pins`.
        let name: String
        let meaning: String
        let type: SettingType
        let defaultValue: JSONValue?
        let isRequired: Bool
    }

    let kind: Kind
    let name: String
    let aliases: [String]
    let summary: String
    let typeName: String?
    let example: String
    let settings: [Setting]
    let refused: [SettingReads.Refusal]
    let isComplete: Bool

    let issues: [ConfigurationIssue]

    func members(of path: String = "") -> [Setting] {
        settings.filter { Self.parent(of: $0.name) == path }
    }

    static func parent(of path: String) -> String {
        path.split(separator: ".").dropLast().joined(separator: ".")
    }

    static func ownName(of path: String) -> String {
        String(path.split(separator: ".").last ?? "")
    }
}

extension PartReference.Setting {
    var ownName: String { PartReference.ownName(of: name) }
}

/// Runs the factory of a part with an empty object and with the example, and compares the reads
/// with the description.
struct PartObservation {
    let kind: PartReference.Kind
    let name: String
    let description: PartDescription?
    let make: (Settings) throws -> String?

    private var path: String { "\(kind.rawValue) \(name)" }
    private static let sharedNames: Set<String> = ["use", "id"]

    func reference(aliases: [String]) -> PartReference {
        var issues: [ConfigurationIssue] = []
        func add(_ place: String, _ message: String) {
            let path = place.isEmpty ? path : "\(path).\(place)"
            issues.append(ConfigurationIssue(path: path, message: message))
        }

        let reads = SettingReads()
        var typeName = observe([:], into: reads).typeName
        var isComplete = description != nil
        let text = description?.example ?? ""
        let example = text.isEmpty ? "{\"use\": \"\(name)\"}" : text
        if let value = try? JSONValue(parsing: example), let object = value.object {
            let found = observe(object, into: reads)
            typeName = typeName ?? found.typeName
            isComplete = isComplete && !found.hasThrown
            for issue in found.issues {
                add(issue.path, "the example is refused: \(issue.message)")
            }
            if value["use"]?.string != name { add("", "the example uses another part") }
        } else {
            isComplete = false
            add("", "the example is not a JSON object")
        }

        if description?.summary.isEmpty != false { add("", "the part has no description") }
        let described = (description?.settings ?? []).map { (name: $0.key, is: $0.value) }
        let names = described.map(\.name)
        for (position, name) in names.enumerated() {
            if names[..<position].contains(name) { add(name, "the setting is described twice") }
            if reads[name] == nil { add(name, "the setting is described, but nothing reads it") }
        }
        let others = reads.names.filter { !names.contains($0) && !Self.sharedNames.contains($0) }
        for name in others { add(name, "the setting has no description") }

        let all = described + others.map { (name: $0, is: SettingDescription("")) }
        let settings = all.map { name, description in
            let read = reads[name]
            let type = description.type ?? read?.type ?? .any
            if read != nil, !type.isKnown {
                add(name, "the reads of the factory do not show the type; describe the type")
            }
            if let told = description.defaultValue, let other = read?.defaultValue, told != other {
                add(name, "the default is described as \(told), but read as \(other)")
            }
            return PartReference.Setting(
                name: name, meaning: description.meaning, type: type,
                defaultValue: description.defaultValue ?? read?.defaultValue,
                isRequired: description.isRequired || read?.isRequired == true)
        }
        return PartReference(
            kind: kind, name: name, aliases: aliases, summary: description?.summary ?? "",
            typeName: typeName, example: example, settings: settings,
            refused: reads.refusals.filter { !names.contains($0.name) && reads[$0.name] == nil },
            isComplete: isComplete, issues: issues)
    }

    private struct Observed {
        var typeName: String?
        var hasThrown = false
        var issues: [ConfigurationIssue] = []
    }

    // The factory must open and create nothing.
    private func observe(_ object: JSONObject, into all: SettingReads) -> Observed {
        var observed = Observed()
        let reads = SettingReads()
        let settings = Settings(object, Settings.Reading(isDryRun: true, reads: reads))
        _ = settings.value("use")
        if kind == .gate { _ = settings.string("id") }
        do {
            observed.typeName = try make(settings)
        } catch {
            observed.hasThrown = true
            settings.issue(at: "", (error as? ClientError)?.message ?? String(describing: error))
        }
        settings.finish()
        all.merge(reads)
        observed.issues = settings.report.issues
        return observed
    }
}

extension SettingType {
    var isKnown: Bool {
        switch form {
        case .any: false
        case .list(let element), .pair(let element): element.isKnown
        case .either(let types): types.allSatisfy(\.isKnown)
        default: true
        }
    }
}

/// The description of a part, for the reference and the schema of stack files.
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
/// Types, bounds and defaults need no description, because the registry observes them while the
/// factory reads an empty object and the example. ``Registry/checkReference()`` finds gaps and
/// mistakes in descriptions.
public struct PartDescription: Sendable {
    /// The effect of the part.
    public let summary: String
    /// The settings, in the order of the reference.
    public let settings: [(key: String, value: SettingDescription)]
    /// The JSON text of an example.
    ///
    /// If the text is empty, the reference shows the part without settings.
    public let example: String

    /// Creates a description with the settings by name.
    ///
    /// A member of an object, or of each object of a list, has a path such as `trust.pins`.
    public init(
        _ summary: String, settings: KeyValuePairs<String, SettingDescription> = [:],
        example: String = ""
    ) {
        self.init(summary, settings: Array(settings), example: example)
    }

    /// Creates a description from a list of settings, which several parts may share.
    ///
    /// ```swift
    /// let shared: KeyValuePairs<String, SettingDescription> = ["region": "The region."]
    /// PartDescription("Names the tenant.", settings: shared + [("name", "The tenant.")])
    /// ```
    ///
    /// The parameter is not a dictionary, because a dictionary has no order.
    public init(
        _ summary: String, settings: [(key: String, value: SettingDescription)],
        example: String = ""
    ) {
        self.summary = summary
        self.settings = settings
        self.example = example
    }
}

/// The meaning of a setting, for the reference and the schema of stack files.
///
/// A string is enough for most settings, because the type, the bounds and the default come from the
/// reads of the factory.
public struct SettingDescription: Sendable, ExpressibleByStringLiteral {
    /// The meaning of the setting, as a sentence.
    public let meaning: String
    /// The type, or nil for the type that the factory reads.
    public let type: SettingType?
    /// The default, or nil for the default that the factory reads.
    public let defaultValue: JSONValue?
    /// Whether the part needs the setting.
    public let isRequired: Bool

    /// Creates a description, with the details that the reads of the factory do not contain.
    public init(
        _ meaning: String, type: SettingType? = nil, default defaultValue: JSONValue? = nil,
        isRequired: Bool = false
    ) {
        self.meaning = meaning
        self.type = type
        self.defaultValue = defaultValue
        self.isRequired = isRequired
    }

    /// Creates a description that has only a meaning.
    public init(stringLiteral meaning: String) { self.init(meaning) }
}
