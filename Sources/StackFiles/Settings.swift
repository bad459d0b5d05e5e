// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
import TurnpikeSupport

/// The settings of one part of a stack file, for the factory of the part.
///
/// Each method gets a key, a type and bounds. If a value is wrong, the method records a mistake
/// with the path, and returns the default. One check therefore finds all mistakes. A key that no
/// method has read is also a mistake. Any string may be written as `{"env": "NAME"}` or
/// `{"file": "PATH"}`, which keeps secrets out of the stack file.
///
/// ```swift
/// registry.register(gate: "tenant") { settings in
///     TenantHeader(tenant: settings.required("name"))
/// }
/// ```
public final class Settings {
    /// The path of the object in the file.
    public let path: String
    /// The client's base URL, or nil.
    public var baseURL: URL? { reading.baseURL }
    /// Whether the file is only checked, and the factory must not open or create anything.
    public var isDryRun: Bool { reading.isDryRun }
    var stateKey = ""

    private let object: JSONObject
    let reading: Reading
    private var asked: Set<String> = []

    struct Reading {
        var isDryRun = false
        var baseURL: URL?
        var report = IssueReport()
        var state = ReloadableState()
        var common = CommonState()
        var meters: [String: any GateMeter] = [:]
        /// The shared state of the file, or nil if the settings are not part of a file.
        var sharing: Sharing?
        var reads: SettingReads?
    }

    init(_ object: JSONObject, path: String = "", _ reading: Reading) {
        self.object = object
        self.path = path
        self.reading = reading
    }

    var report: IssueReport { reading.report }
    var sharing: Sharing? { reading.sharing }
    var reads: SettingReads? { reading.reads }

    /// Reads an object that is not part of a stack file.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` with every mistake in the object.
    public static func read<Value>(
        _ object: JSONObject, _ body: (Settings) throws -> Value
    ) throws -> Value {
        let settings = Settings(object, Reading())
        let value = try body(settings)
        settings.finish()
        try settings.report.check()
        return value
    }

    // MARK: Values

    /// Returns the raw value of a key, or nil if the key is missing.
    public func value(_ key: String) -> JSONValue? {
        reads?.note(place(key))
        return member(key)
    }

    /// Whether the value of a key is null.
    ///
    /// For some settings, null has a special meaning, such as no limit.
    public func isNull(_ key: String) -> Bool { value(key) == .null }

    /// Returns the settings of an object inside this object, at any depth.
    public func nested(_ object: JSONObject, at key: String) -> Settings {
        reads?.noteObject(place(key))
        return Settings(object, path: place(key), reading)
    }

    // Whether the reference contains the settings of a missing object. The depth is limited,
    // because an object may contain objects of the same kind at any depth.
    func describesMembers(of key: String) -> Bool {
        reads != nil && place(key).count { $0 == "." } < 4
    }

    // MARK: Mistakes

    /// Records a mistake at a key.
    ///
    /// A report contains the first hundred mistakes, and the number of the other mistakes. The
    /// message is created only if the report contains the message.
    public func issue(at key: String, _ message: @autoclosure () -> String) {
        report.add(.mistake, at: place(key), message())
    }

    /// Records mistakes of other code, which have their own paths.
    public func adopt(_ issues: [ConfigurationIssue]) {
        report.add(issues)
    }

    /// Records a mistake for each present key, because the transport does not support the setting.
    public func refuse(_ keys: String..., because reason: String) {
        for key in keys {
            reads?.noteRefusal(place(key), reason)
            if (member(key) ?? .null) != .null {
                report.add(.unsupported, at: place(key), reason)
            }
        }
    }

    /// Records a mistake for each key that was not read.
    ///
    /// Call this method after an object (``object(_:)``) was read completely.
    public func finish() {
        for member in object where !asked.contains(member.name) {
            issue(
                at: Grammar.escaped(member.name, upTo: 100),
                "there is no such setting"
                    + NearMiss.hint(for: member.name, among: asked.filter { $0 != "use" }))
        }
    }

    // Returns the value of a key, or nil if the key is missing or null. If the value is required,
    // nil is a mistake.
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

extension Settings {
    // Returns a string, or the text of a reference.
    func text(_ value: JSONValue, at key: String) -> String? {
        switch value {
        case .string(let text): return text
        case .object(let object) where object.count == 1:
            // A factory that runs for a description must not read the environment or other files.
            if reads != nil, (object["env"] ?? object["file"])?.string != nil { return "reference" }
            if let name = object["env"]?.string {
                if let text = ProcessInfo.processInfo.environment[name] { return hidden(text) }
                issue(at: key, "the environment variable \(Grammar.escaped(name)) is not set")
                return nil
            }
            if let path = object["file"]?.string { return contents(of: path, at: key).map(hidden) }
        default: break
        }
        issue(
            at: key,
            "found \(value.kindName); expected a string, {\"env\": …} or {\"file\": …}")
        return nil
    }

    // Messages never contain texts from the environment or from other files.
    private func hidden(_ text: String) -> String {
        report.hide(text)
        return text
    }

    private func contents(of path: String, at key: String) -> String? {
        do {
            let text = try String(contentsOfFile: path, encoding: .utf8)
            // Editors add a line break to the end of a file. This line break is not part of the
            // secret.
            return text.last == "\n" || text.last == "\r\n" ? String(text.dropLast()) : text
        } catch {
            issue(at: key, "the file \(Grammar.escaped(path)) cannot be read as text")
            return nil
        }
    }

    // MARK: Names of header fields

    /// Returns the name of a header field.
    public func headerName(_ key: String, default fallback: HTTPHeaders.Name) -> HTTPHeaders.Name {
        string(key).flatMap { headerName($0, at: key) } ?? fallback
    }

    /// The name of a header field, or nil if the key is missing or null.
    public func headerName(_ key: String) -> HTTPHeaders.Name? {
        string(key).flatMap { headerName($0, at: key) }
    }

    /// Returns a list of names of header fields, which is empty if the key is missing or null.
    public func headerNames(_ key: String) -> [HTTPHeaders.Name] {
        strings(key).enumerated().compactMap { headerName($0.element, at: "\(key)[\($0.offset)]") }
    }

    private func headerName(_ text: String, at key: String) -> HTTPHeaders.Name? {
        let name = HTTPHeaders.Name(text)
        guard let defect = Self.defect(name, "") else { return name }
        issue(at: key, defect)
        return nil
    }

    /// Returns the reason why a field cannot be sent, without the value, or nil.
    public static func defect(_ name: HTTPHeaders.Name, _ value: String) -> String? {
        var trial = HTTPHeaders()
        trial.append(name, value)
        return trial.defect
    }
}
