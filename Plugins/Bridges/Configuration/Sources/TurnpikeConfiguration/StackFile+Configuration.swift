// SPDX-License-Identifier: Apache-2.0

public import Configuration
import Foundation
import Turnpike
public import TurnpikeStackFiles

extension StackFile {
    /// Reads a client from a configuration with one of three keys.
    ///
    /// - `stack` contains the JSON of a stack file.
    /// - `stackFile` contains the path of a stack file.
    /// - `gates` lists the names of the gates, the outermost first. `gate.NAME` is the scope of the
    ///   settings of a gate. If two gates have the same name, an entry `NAME/SCOPE` selects the
    ///   scope. With `gates`, the configuration may also have `baseURL`, `transport.use`,
    ///   `shared.use` and `lint.ignore`. The settings of the transport and of shared state are
    ///   below `transport` and `shared`.
    ///
    /// All texts except names and the path are read as secrets, because access reporters must
    /// redact these texts. The keys of a configuration cannot be listed. A misspelled key is
    /// therefore not found with `gates`.
    /// - Parameters:
    ///   - config: The configuration, scoped to the client.
    ///   - registry: The names that the stack may use.
    /// - Throws: `ClientError.Code.configuration` with every mistake, or
    ///   `ClientError.Code.unsupported`. With `gates`, the error contains keys of the
    ///   configuration. With `stack` and `stackFile`, the error contains paths in the stack file.
    public init(from config: ConfigSnapshotReader, registry: Registry) throws {
        var reader = SettingReader(config)
        let text = reader.value([.text], at: [Key.stack])
        let path = reader.value([.choice([])], at: [Key.stackFile])
        let gates = reader.value([.choices], at: [Key.gates])
        if !reader.issues.isEmpty { throw ClientError.configuration(reader.issues) }
        switch (text, path, gates) {
        case (let text?, nil, nil):
            self = try Self(parsing: Data(Self.string(text, Key.stack).utf8))
            try throwIfNeeded(check(with: registry))
        case (nil, let path?, nil):
            self = try Self(contentsOf: URL(filePath: Self.string(path, Key.stackFile)))
            try throwIfNeeded(check(with: registry))
        case (nil, nil, let gates?):
            self = try Self(gates, &reader, registry)
        default:
            let names = [text, path, gates].map { $0 != nil }
            let found = zip([Key.stack, Key.stackFile, Key.gates], names).filter(\.1).map(\.0)
            let what = found.isEmpty ? "none" : found.joined(separator: " and ")
            throw ClientError.configuration([
                ConfigurationIssue(
                    path: "",
                    message: "found \(what) of the keys stack, stackFile, gates; expected one key"
                        + (found.isEmpty ? " (stack holds JSON as a string)" : ""))
            ])
        }
    }

    private enum Key {
        static let stack = "stack"
        static let stackFile = "stackFile"
        static let gates = "gates"
        static let gate = "gate"
        static let transport = "transport"
        static let shared = "shared"
    }

    private static func string(_ value: JSONValue, _ key: String) throws -> String {
        if let string = value.string { return string }
        throw ClientError.configuration([
            ConfigurationIssue(
                path: key, message: "found \(value.kindName); expected a string")
        ])
    }

    // MARK: A list of names

    private init(
        _ gates: JSONValue, _ reader: inout SettingReader, _ registry: Registry
    ) throws {
        let schema = registry.schema()
        var root =
            reader.object(
                (schema["properties"]?.object ?? [:]).filter {
                    ![Key.stack, Key.transport, Key.shared, "$schema"].contains($0.name)
                }, at: []) ?? [:]
        for kind in [Key.transport, Key.shared] {
            guard let use = reader.value([.choice([])], at: [kind, "use"]) else { continue }
            if let name = use.string {
                root[kind] = .object(Self.part(named: name, kind, schema, &reader, at: [kind]))
            } else {
                reader.add("found \(use.kindName); expected a string", at: [kind, "use"])
            }
        }
        var scopes: [String] = []
        var stack: [JSONValue] = []
        for entry in gates.array ?? [gates] {
            guard let entry = entry.string else {
                reader.add("found \(entry.kindName); expected the name of a gate", at: [Key.gates])
                continue
            }
            let parts = entry.split(separator: "/", maxSplits: 1).map(String.init)
            let (name, scope) = (parts.first ?? "", parts.last ?? "")
            if scopes.contains(scope) {
                reader.add(
                    "found the scope \(scope) twice; expected NAME/SCOPE for a second gate of the"
                        + " same name", at: [Key.gates])
            }
            scopes.append(scope)
            var gate = Self.part(named: name, "gate", schema, &reader, at: [Key.gate, scope])
            // The state of the gate belongs to its scope, not to its position.
            gate["id"] = .string(scope)
            stack.append(.object(gate))
        }
        root[Key.stack] = .array(stack)
        try self.init(.object(root))
        let found = check(with: registry).map { issue in
            ConfigurationIssue(
                path: Self.key(of: issue.path, scopes), message: issue.message, kind: issue.kind)
        }
        try throwIfNeeded(reader.issues + found)
    }

    private static func part(
        named name: String, _ kind: String, _ schema: JSONValue, _ reader: inout SettingReader,
        at key: [String]
    ) -> JSONObject {
        let members = schema["$defs"]?["\(kind)-\(name)"]?["properties"]?.object ?? [:]
        var part = reader.object(Array(members), at: key) ?? [:]
        part["use"] = .string(name)
        return part
    }

    /// Returns the key for a path in the stack file, such as `gate.retry.attempts` for
    /// `stack[1].attempts`.
    private static func key(of path: String, _ scopes: [String]) -> String {
        guard path.hasPrefix("stack["), let end = path.firstIndex(of: "]"),
            let number = Int(path[path.index(path.startIndex, offsetBy: 6)..<end]),
            scopes.indices.contains(number)
        else { return path }
        return "\(Key.gate).\(scopes[number])" + path[path.index(after: end)...]
    }
}

private func throwIfNeeded(_ issues: [ConfigurationIssue]) throws {
    if !issues.isEmpty { throw ClientError.configuration(issues) }
}
