// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
import TurnpikeSupport

/// The settings of one part of a stack file, read by the factory of the part.
///
/// Each read names a key, its type and its bounds. A mistake is recorded with its path and the read
/// returns the default, so that one pass finds all mistakes. A key that nobody reads is also a
/// mistake. Any string may be written as `{"env": "NAME"}` or `{"file": "PATH"}`, so that secrets
/// stay out of the file.
///
/// ```swift
/// registry.register(gate: "tenant") { settings in
///     TenantHeader(tenant: settings.required("name"))
/// }
/// ```
public final class Settings {
    /// The path of the object in the file.
    public let path: String
    /// The client's base URL, if there is one.
    public let baseURL: URL?
    /// Whether the file is only checked, so that nothing may be opened or created.
    public let isDryRun: Bool
    /// Identifies the state of this part.
    var stateKey = ""

    private let object: JSONObject
    let report: IssueReport
    let state: KeptState
    let common: CommonState
    // Those of the registry, by their names.
    let meters: [String: any GateMeter]
    // What the gates of the file share; nil for settings that are of no file.
    let sharing: Sharing?
    // Notes the reads, if a reference is made of them.
    let reads: SettingReads?
    private var asked: Set<String> = []

    init(
        _ object: JSONObject, path: String, baseURL: URL?, isDryRun: Bool, report: IssueReport,
        state: KeptState, common: CommonState, meters: [String: any GateMeter] = [:],
        sharing: Sharing? = nil, reads: SettingReads? = nil
    ) {
        self.object = object
        self.path = path
        self.baseURL = baseURL
        self.isDryRun = isDryRun
        self.report = report
        self.state = state
        self.common = common
        self.meters = meters
        self.sharing = sharing
        self.reads = reads
    }

    /// Reads an object that is not part of a stack file.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` with every mistake.
    public static func read<Value>(
        _ object: JSONObject, _ body: (Settings) throws -> Value
    ) throws -> Value {
        let report = IssueReport()
        let settings = Settings(
            object, path: "", baseURL: nil, isDryRun: false, report: report, state: KeptState(),
            common: CommonState())
        let value = try body(settings)
        settings.finish()
        try report.check()
        return value
    }

    // MARK: Values

    /// Returns the raw value of a key, or nil if the key is missing.
    public func value(_ key: String) -> JSONValue? {
        reads?.note(place(key))
        return member(key)
    }

    /// Whether a key is present with the value null, which for some settings means none.
    public func isNull(_ key: String) -> Bool { value(key) == .null }

    /// Returns the settings of an object nested anywhere inside this one.
    public func nested(_ object: JSONObject, at key: String) -> Settings {
        reads?.noteObject(place(key))
        return Settings(
            object, path: place(key), baseURL: baseURL, isDryRun: isDryRun, report: report,
            state: state, common: common, meters: meters, sharing: sharing, reads: reads)
    }

    // A reference also shows the settings of an object that is missing. An object may contain
    // others of its own kind, without end.
    func describesMembers(of key: String) -> Bool {
        reads != nil && place(key).count { $0 == "." } < 4
    }

    // MARK: Mistakes

    /// Records a mistake at a key.
    ///
    /// A report contains the first hundred mistakes and the number of the others. The message is
    /// created only if it will be shown.
    public func issue(at key: String, _ message: @autoclosure () -> String) {
        report.add(.mistake, at: place(key), message())
    }

    /// Records mistakes with their own paths that were found elsewhere.
    public func adopt(_ issues: [ConfigurationIssue]) {
        report.add(issues)
    }

    /// Records that a key, if present, sets something that the transport does not support.
    public func refuse(_ keys: String..., because reason: String) {
        for key in keys {
            reads?.noteRefusal(place(key), reason)
            if (member(key) ?? .null) != .null {
                report.add(.unsupported, at: place(key), reason)
            }
        }
    }

    /// Records the keys that nobody has read, after an object (``object(_:)``) was read completely.
    public func finish() {
        for member in object where !asked.contains(member.name) {
            issue(
                at: Grammar.escaped(member.name, upTo: 100),
                "there is no such setting"
                    + NearMiss.hint(for: member.name, among: asked.filter { $0 != "use" }))
        }
    }

    /// Returns the value of a key, or nil if the key is missing or null, which is a mistake if the
    /// value is required.
    func present(
        _ key: String, _ type: SettingType, default standard: @autoclosure () -> JSONValue? = nil,
        isRequired: Bool = false
    ) -> JSONValue? {
        reads?.note(place(key), type, default: standard(), isRequired: isRequired)
        if let value = member(key), value != .null { return value }
        if isRequired { issue(at: key, "is missing; expected \(type.expected)") }
        return nil
    }

    private func member(_ key: String) -> JSONValue? {
        asked.insert(key)
        return object[key]
    }

    private func place(_ key: String) -> String {
        path.isEmpty || key.isEmpty ? path + key : path + "." + key
    }
}
