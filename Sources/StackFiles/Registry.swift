// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// The names that a stack file may use for gates, transports and complete stacks.
///
/// A registry is a value, and no name is registered globally. A plugin adds a name in one line:
///
/// ```swift
/// var registry = Registry.standard
/// registry.register(gate: "tenant") { TenantHeader(tenant: $0.required("name")) }
/// let client = try Client(stackFile: StackFile(contentsOf: url), registry: registry)
/// ```
public struct Registry: Sendable {
    private struct Part<Value>: Sendable {
        let make: @Sendable (Settings) throws -> Value
        let description: PartDescription?
    }

    private var gates: [String: Part<any Gate>] = [:]
    private var transports: [String: Part<any Transport>] = [:]
    private var sharedParts: [String: Part<any SharedPart>] = [:]
    // The current name for each earlier name of a gate. `gates` contains only the current names.
    private var aliases: [String: String] = [:]
    private var stacks: [String: @Sendable () -> Stack] = [:]
    private(set) var meters: [String: any GateMeter] = [:]
    private(set) var defaultTransport: String?
    // All copies of the registry share this object.
    let common = CommonState()

    /// Creates an empty registry.
    public init() {}

    /// Adds or replaces a gate under a name.
    ///
    /// After this call, an earlier name of the gate means the new gate. The description is for the
    /// reference and the schema of stack files.
    public mutating func register(
        gate name: String, description: PartDescription? = nil,
        _ make: @escaping @Sendable (Settings) throws -> any Gate
    ) {
        gates[name] = Part(make: make, description: description)
        aliases[name] = nil
    }

    /// Adds an earlier name of a registered gate.
    ///
    /// The earlier name refers to the current name, and therefore also to a gate that replaces the
    /// current gate.
    public mutating func register(gate alias: String, sameAs name: String) {
        precondition(gates[name] != nil && alias != name, "there is no gate \(name) to rename")
        gates[alias] = nil
        aliases[alias] = name
    }

    /// Adds or replaces a transport under a name.
    ///
    /// The first registered transport is the default for files that name no transport. A check
    /// (``Settings/isDryRun``) does not use the transport. If the transport opens resources, the
    /// factory should only read the settings and return a ``/TurnpikeCore/MockTransport`` for a
    /// check.
    public mutating func register(
        transport name: String, description: PartDescription? = nil,
        _ make: @escaping @Sendable (Settings) throws -> any Transport
    ) {
        transports[name] = Part(make: make, description: description)
        defaultTransport = defaultTransport ?? name
    }

    /// Adds or replaces a kind of shared state under a name.
    ///
    /// During a check (``Settings/isDryRun``), the factory must open nothing, and should only read
    /// the settings and return a part that does nothing.
    /// - Parameters:
    ///   - name: The name in files.
    ///   - description: The description for the reference and the schema of stack files.
    ///   - make: Reads the settings and creates the part.
    public mutating func register(
        shared name: String, description: PartDescription? = nil,
        _ make: @escaping @Sendable (Settings) throws -> any SharedPart
    ) {
        sharedParts[name] = Part(make: make, description: description)
    }

    /// Adds or replaces a complete stack under a name.
    public mutating func register(stack name: String, _ make: @escaping @Sendable () -> Stack) {
        stacks[name] = make
    }

    /// Adds or replaces a meter under a name.
    ///
    /// Gates and transports with the setting `"metrics": "meter:NAME"` report to the meter.
    ///
    /// ```swift
    /// registry.register(meter: MetricsSystemRecorder(), as: "service")
    /// ```
    /// - Parameters:
    ///   - meter: Receives the figures of all clients that use the registry.
    ///   - name: The name in files. A file that names an unregistered meter is refused.
    public mutating func register(meter: any GateMeter, as name: String) { meters[name] = meter }

    var gateNames: [String] { (Array(gates.keys) + aliases.keys).sorted() }
    var sharedNames: [String] { sharedParts.keys.sorted() }
    var stackNames: [String] { stacks.keys.sorted() }

    // The gates in the form of the reference, sorted by name.
    var gateReferences: [PartReference] {
        references(.gate, gates) {
            // The name of a private type contains a number for its context.
            String(reflecting: type(of: $0)).replacing(/\(unknown context at [^)]*\)\./, with: "")
        }
    }
    var sharedReferences: [PartReference] { references(.shared, sharedParts) }
    var transportReferences: [PartReference] {
        let all = references(.transport, transports)
        return all.filter { $0.name == defaultTransport }
            + all.filter { $0.name != defaultTransport }
    }

    private func references<Value>(
        _ kind: PartReference.Kind, _ parts: [String: Part<Value>],
        typeName: @escaping (Value) -> String? = { _ in nil }
    ) -> [PartReference] {
        parts.sorted { $0.key < $1.key }.map { name, part in
            let others = kind == .gate ? aliases.filter { $0.value == name }.keys.sorted() : []
            return PartObservation(kind: kind, name: name, description: part.description) {
                typeName(try part.make($0))
            }
            .reference(aliases: others)
        }
    }

    // MARK: Building

    // Returns the shared part of a file. The texts of references also identify the part, and a new
    // password therefore creates a new part.
    func sharedPart(_ value: JSONValue, in settings: Settings) -> (any SharedPart)? {
        guard
            let (name, inner) = part(
                value, at: "shared", in: settings, names: sharedParts.keys,
                kind: "kind of shared state"),
            let part = sharedParts[name]
        else { return nil }
        inner.stateKey = "shared"
        return try? inner.reloadable("part", for: Unshown(resolving: value)) {
            guard let made = attempt(inner, "shared", settings, { try part.make(inner) }) else {
                throw NoPart()
            }
            return made
        }
    }

    private struct NoPart: Error {}

    func stack(_ value: JSONValue?, in settings: Settings) -> [ParsedStackFile.Part] {
        switch value {
        case nil: return named("standard", settings)
        case .string(let name): return named(name, settings)
        case .array(let elements):
            var ids: Set<String> = []
            return elements.enumerated().compactMap { number, element in
                let before = settings.report.count
                // A gate with a mistake has defaults in place of the settings in the file.
                guard let made = gate(element, number: number, in: settings, &ids),
                    settings.report.count == before
                else { return nil }
                return ParsedStackFile.Part(path: Self.path(number), gate: made)
            }
        default:
            settings.issue(at: "stack", "expected an array of gates, or the name of a stack")
            return []
        }
    }

    private static func path(_ number: Int) -> String { "stack[\(number)]" }

    private func named(_ name: String, _ settings: Settings) -> [ParsedStackFile.Part] {
        if let make = stacks[name] {
            return make().gates.map { ParsedStackFile.Part(path: "stack", gate: $0) }
        }
        settings.issue(
            at: "stack",
            "\"\(Grammar.escaped(name, upTo: 100))\" is not a stack"
                + NearMiss.hint(for: name, among: stacks.keys))
        return []
    }

    private func gate(
        _ value: JSONValue, number: Int, in settings: Settings, _ ids: inout Set<String>
    ) -> (any Gate)? {
        let path = Self.path(number)
        guard
            let (name, inner) = part(
                value, at: path, in: settings, names: gateNames, kind: "gate"),
            let gate = gates[aliases[name] ?? name]
        else { return nil }
        // The id of a gate, or its name and position, identifies the state of the gate.
        let id = inner.string("id")
        inner.stateKey = id ?? "\(name)#\(number)"
        if let id, !ids.insert(id).inserted {
            inner.issue(
                at: "id", "\"\(Grammar.escaped(id, upTo: 100))\" is already the id of another gate")
        }
        return attempt(inner, path, settings) { try gate.make(inner) }
    }

    func transport(_ value: JSONValue?, in settings: Settings) -> (any Transport)? {
        let value = value ?? .object(["use": .string(defaultTransport ?? "")])
        guard
            let (name, inner) = part(
                value, at: "transport", in: settings, names: transports.keys, kind: "transport"),
            let transport = transports[name]
        else { return nil }
        return attempt(inner, "transport", settings) { try transport.make(inner) }
    }

    private func attempt<Value>(
        _ inner: Settings, _ path: String, _ settings: Settings, _ make: () throws -> Value
    ) -> Value? {
        defer { inner.finish() }
        do {
            return try make()
        } catch {
            settings.issue(at: path, (error as? ClientError)?.message ?? String(describing: error))
            return nil
        }
    }

    private func part(
        _ value: JSONValue, at path: String, in settings: Settings, names: some Collection<String>,
        kind: String
    ) -> (String, Settings)? {
        guard let object = value.object else {
            settings.issue(at: path, "expected an object with \"use\"")
            return nil
        }
        guard let name = object["use"]?.string else {
            settings.issue(at: path, "\"use\" is missing; it names the \(kind)")
            return nil
        }
        guard names.contains(name) else {
            settings.issue(
                at: path + ".use",
                "there is no \(kind) \"\(Grammar.escaped(name, upTo: 100))\""
                    + NearMiss.hint(for: name, among: names))
            return nil
        }
        let inner = settings.nested(object, at: path)
        _ = inner.value("use")
        return (name, inner)
    }
}
