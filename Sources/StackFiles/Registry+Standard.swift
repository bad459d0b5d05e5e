// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSerializers

extension Registry {
    /// The registry with the transports and gates of `import Turnpike`, and the stack with the name
    /// `standard`.
    public static var standard: Registry {
        var registry = Registry()
        // The first transport is the default for files that name no transport.
        registry.registerURLSession()
        registry.registerTransports()
        registry.registerMiddleware()
        registry.register(stack: "standard") { .standard }
        return registry
    }

    /// Registers the gates of `TurnpikeMiddleware`.
    public mutating func registerMiddleware() {
        registerTimeLimits()
        registerResilience()
        registerRetries()
        registerCookies()
        registerHeaderFields()
        registerPolicies()
        registerObservation()
    }
}

extension SettingDescription {
    /// The setting `metrics`, which ``Settings/meter()`` reads.
    public static let metrics: SettingDescription = """
        The destination of the gate's figures: a file, `"stderr"`, or as `"meter:NAME"` a meter \
        that the program has registered.
        """

    /// The setting `switch`, which ``Settings/switched(_:)`` reads.
    public static let control: SettingDescription = """
        Puts the gate behind a switch. The value is the share of the calls that pass through the \
        gate, from 0 (none) to 1 (all). If a reload changes the share, the log says so.
        """

    /// The setting `budget`, which ``Settings/retryBudget()`` reads.
    public static let budget: SettingDescription = """
        The share of the calls to an origin that may be sent again, by retries and hedges \
        together. null sets no limit.
        """

    /// The setting `shared`, which ``Settings/sharedPart(_:)`` reads.
    public static let shared: SettingDescription = """
        Whether the gate uses the shared state of the file: true, or the name in `shared.use`.
        """

    /// The setting `origins`, which ``Settings/keptOrigins()`` reads.
    public static let origins = SettingDescription(
        """
        The origins that receive the credential, such as `"https://api.example.com"`. The default \
        is the origin of `baseURL`, or without a `baseURL` the origin of the first request.
        """)

    static let secretOrigins = SettingDescription(
        """
        The origins that receive fields with secrets, such as `Authorization`. The default is the \
        origin where a call begins.
        """, type: .list(of: .string))
}

extension Settings {
    /// Returns the gate behind a switch, or the gate alone without the setting `switch`.
    public func switched(_ gate: any Gate) -> any Gate {
        optionalDouble("switch", in: 0...1).map { Switched(by: control($0), [gate]) } ?? gate
    }

    /// Returns the switch of a gate.
    ///
    /// A reload does not replace the switch, and sets the share of the switch to the share in the
    /// file.
    public func control(_ share: Double) -> Switch {
        let name = "the stack file"
        return reloadable("switch", for: true, updating: { $0.set(share: share, by: name) }) {
            Switch(share: share, by: share < 1 ? name : nil)
        }
    }
}

extension ConfiguredClient {
    /// Creates a client with the standard registry and serializers.
    public convenience init(_ file: StackFile, trace: (any CallReader)? = nil) throws {
        try self.init(file, registry: .standard, serializers: .standard, trace: trace)
    }
}

extension Registry {
    /// Returns the reference of stack files with the names of this registry, as Markdown.
    ///
    /// The reference has each transport and gate, with the settings, types and defaults, and an
    /// example. If a part has a ``PartDescription``, the reference also explains the part. To
    /// observe the settings, each factory runs with an empty object and with the example, as for a
    /// check (``Settings/isDryRun``).
    /// - Parameter modules: The modules whose gates become DocC links. Other gates have only their
    ///   names.
    /// - Returns: The text, whose first line is a heading.
    public func reference(linking modules: Set<String> = []) -> String {
        ReferenceText(linked: modules)
            .text(
                transports: transportReferences, gates: gateReferences, shared: sharedReferences,
                stacks: stackNames)
    }

    /// Returns the JSON Schema (draft 2020-12) of stack files with the names of this registry, for
    /// completion and checks in editors.
    ///
    /// The schema accepts each file that ``StackFile/check(with:)`` accepts, on two conditions.
    /// First, each part has a complete description (``checkReference()``). Second, each factory
    /// reads and requires the same settings for each file. If a factory reads a setting only for a
    /// certain value of another setting, the example must have that value.
    ///
    /// If a part has no description, or the factory of the part throws an error for the example,
    /// the schema allows any setting for the part. Only a check finds missing files, and settings
    /// that are not compatible.
    /// - Returns: The schema, which ``/TurnpikeCore/JSONValue/data(pretty:sortedNames:)`` writes.
    public func schema() -> JSONValue {
        ReferenceSchema(
            transports: transportReferences, gates: gateReferences, shared: sharedReferences,
            stacks: stackNames
        ).root
    }

    /// Returns the gaps and mistakes of this registry's descriptions.
    ///
    /// A description must have exactly the settings that the factory reads. A default in a
    /// description must equal the default that the factory reads. The factory must accept the
    /// example. A test can require that there are no issues:
    ///
    /// ```swift
    /// #expect(registry.checkReference().isEmpty)
    /// ```
    public func checkReference() -> [ConfigurationIssue] {
        (transportReferences + gateReferences + sharedReferences).flatMap(\.issues)
    }
}
