// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
import TurnpikeSupport

/// A client as data: the base URL, the transport, and the stack with the outermost gate first.
///
/// ```json
/// {
///   "baseURL": "https://api.example.com/v1/",
///   "transport": {"use": "urlsession"},
///   "stack": [
///     {"use": "deadline", "seconds": 30},
///     {"use": "retry", "attempts": 3},
///     {"use": "basic", "user": "svc", "password": {"env": "PASSWORD"}}
///   ]
/// }
/// ```
///
/// Durations are in seconds, and sizes are in bytes. `$schema` may name a JSON Schema, which an
/// editor uses to complete the file (``Registry/schema()``). If `stack` is missing, the client has
/// the standard stack; `[]` is an empty stack. `shared` describes state that several replicas
/// share. Gates with `"shared": true` use that state. `{"lint": {"ignore": ["rule-id"]}}` names
/// rules of the linter in `TurnpikeInspection` that do not apply to the stack.
///
/// The complete file is checked before the creation of any part.
/// ``/TurnpikeCore/ClientError/Code/configuration`` contains every mistake with the path, the value
/// in the file and the expected value. If the transport does not support a setting, the error is
/// ``/TurnpikeCore/ClientError/Code/unsupported``.
public struct StackFile: Sendable, Hashable {
    private(set) var root: JSONObject

    /// Creates a stack file from JSON text.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` with line and column if the text
    ///   is not a JSON object.
    public init(parsing data: Data) throws {
        let value: JSONValue
        do {
            value = try JSONValue(
                parsing: data, options: JSONReadingOptions(refusesDuplicateNames: true))
        } catch {
            throw ClientError(.configuration, "the stack file is not JSON: \(error)")
        }
        try self.init(value)
    }

    /// Reads a stack file.
    public init(contentsOf url: URL) throws {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            let path = Grammar.escaped(url.path(percentEncoded: false))
            throw ClientError(
                .configuration, "the stack file \(path) cannot be read", underlying: error)
        }
        try self.init(parsing: data)
    }

    /// Creates a stack file from a JSON value, whose members replace the same members of a base
    /// file.
    public init(_ value: JSONValue, over base: StackFile? = nil) throws {
        guard let object = value.object else {
            throw ClientError(.configuration, "a stack file must be a JSON object")
        }
        root = base?.root ?? object
        if base != nil { for member in object { root[member.name] = member.value } }
    }

    /// Returns the mistakes in the file.
    ///
    /// The check opens and creates nothing.
    public func check(with registry: Registry) -> [ConfigurationIssue] {
        parsed(with: registry).issues
    }

    /// Returns the mistakes in the file, and the parts without mistakes.
    ///
    /// The check opens and creates nothing.
    public func parsed(with registry: Registry) -> ParsedStackFile {
        parts(registry, IssueReport(), ReloadableState(), isDryRun: true)
    }

    struct Parts {
        let baseURL: Target?
        let transport: any Transport
        let stack: Stack
        let shared: (any SharedPart)?
    }

    // Creates the parts of the client. `state` contains the state of gates of an earlier stack, and
    // `transport` replaces the transport of the file.
    func build(
        with registry: Registry, state: ReloadableState, keeping transport: (any Transport)? = nil
    ) throws -> Parts {
        // The check comes first, because no resource must stay open after a mistake.
        let issues = check(with: registry)
        if !issues.isEmpty { throw ClientError.configuration(issues) }
        let report = IssueReport()
        let made = parts(registry, report, state, isDryRun: false, keeping: transport)
        try report.check()
        guard let transport = made.transport else {
            throw ClientError(.configuration, "the stack file cannot be built")
        }
        let stack = Stack(made.gates.map(\.gate))
        if let fault = stack.fault(over: transport) { throw fault }
        return Parts(
            baseURL: made.baseURL, transport: transport, stack: stack, shared: made.shared)
    }

    private func parts(
        _ registry: Registry, _ report: IssueReport, _ state: ReloadableState, isDryRun: Bool,
        keeping kept: (any Transport)? = nil
    ) -> ParsedStackFile {
        var reading = Settings.Reading(
            isDryRun: isDryRun, report: report, state: state, common: registry.common,
            meters: registry.meters)
        let outer = Settings(root, reading)
        // Only editors use the key `$schema`.
        if let schema = outer.value("$schema"), schema.string == nil {
            outer.issue(at: "$schema", "found \(schema.kindName); expected a string")
        }
        let base = outer.string("baseURL").map { Target($0) }
        let resolved = base.map { Request(.get, $0) }
        if let fault = resolved?.fault { outer.issue(at: "baseURL", fault) }
        let sharing = Sharing(outer.value("shared"), kinds: registry.sharedNames)
        if resolved?.fault == nil { reading.baseURL = resolved?.url }
        reading.sharing = sharing
        let settings = Settings(root, reading)
        sharing.part = sharing.value.flatMap { registry.sharedPart($0, in: settings) }
        let described = outer.value("transport")
        let transport = kept ?? registry.transport(described, in: settings)
        let before = report.count
        let gates = registry.stack(outer.value("stack"), in: settings)
        // If no gate used the shared part, a limit for all replicas would become a limit for each
        // replica.
        if sharing.part != nil, !sharing.isUsed, report.count == before {
            outer.issue(
                at: "shared",
                "no gate uses this state; write \"shared\": true at a gate, or remove the state")
        }
        if let transport {
            for part in gates {
                let fault = Stack([part.gate]).fault(over: transport)
                if let fault, fault.code == .unsupported {
                    report.add(.unsupported, at: part.path, fault.message)
                }
            }
        }
        let lint = outer.object("lint")
        let ignoredRules = lint?.strings("ignore") ?? []
        lint?.finish()
        outer.finish()
        return ParsedStackFile(
            issues: report.issues, baseURL: base, gates: gates, transport: transport,
            transportName: root["transport"]?["use"]?.string ?? registry.defaultTransport,
            ignoredRules: ignoredRules, shared: sharing.part)
    }
}

/// The result of a check of a stack file: the mistakes, and the parts without mistakes.
///
/// The parts can be examined, but not used, because the check opens and creates nothing.
public struct ParsedStackFile: Sendable {
    /// A gate and its path in the file.
    public struct Part: Sendable {
        /// The path, such as `stack[2]`, or `stack` for a gate of a stack that the file names.
        public let path: String
        /// The gate.
        public let gate: any Gate
    }

    /// The mistakes.
    public let issues: [ConfigurationIssue]
    /// The base URL of the client, or nil.
    public let baseURL: Target?
    /// The gates without mistakes, outermost first.
    ///
    /// A gate with a wrong setting is left out.
    public let gates: [Part]
    /// An object with the capabilities of the transport, or nil if the transport has a mistake.
    public let transport: (any Transport)?
    /// The name of the transport in files, or nil without a name.
    public let transportName: String?
    /// The rules of the linter that do not apply to the stack (`lint.ignore`).
    public let ignoredRules: [String]
    let shared: (any SharedPart)?
}
