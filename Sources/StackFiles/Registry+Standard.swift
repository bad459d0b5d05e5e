// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSerializers

extension Registry {
    /// The transports and gates of `import Turnpike`, and its stack with the name `standard`.
    public static var standard: Registry {
        var registry = Registry()
        // The first one is the transport of files that name no transport.
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
        registerCoalesce()
        registerCredentials()
        registerHeaderFields()
        registerPolicies()
        registerObservation()
    }
}

// Settings that several gates have.
extension SettingDescription {
    /// The setting `metrics`, which ``Settings/meter()`` reads.
    public static let metrics: SettingDescription = """
        Where figures of the gate are written: a file, or `"stderr"`; or, as `"meter:NAME"`, \
        a meter that the program has registered.
        """

    /// The setting `switch`, which ``Settings/switched(_:)`` reads.
    public static let control: SettingDescription = """
        Puts the gate behind a switch: the share of the calls that pass it, 1 for all and 0 for none. A \
        reload sets it, and says so in the log.
        """

    /// The setting `budget`, which ``Settings/retryBudget()`` reads.
    public static let budget: SettingDescription = """
        The share of the calls to an origin that may be sent again, by retries and hedges \
        together; null sets no bound.
        """

    /// The setting `shared`, which ``Settings/sharedGates()`` reads.
    public static let shared: SettingDescription = """
        Whether the gate uses the shared state of the file: true, or the name in `shared.use`.
        """

    /// The setting `origins`, which ``Settings/keptOrigins()`` reads.
    public static let origins = SettingDescription(
        """
        The origins that receive the credential, such as `"https://api.example.com"`. Without it, \
        that of `baseURL`; without a `baseURL`, that of the first request.
        """)

    static let secretOrigins = SettingDescription(
        """
        The origins that receive fields with secrets, such as `Authorization`. Without it, that \
        where a call begins.
        """, type: .list(of: .string))
}

extension Settings {
    /// Returns the gate, behind a switch if the file sets one (`switch`).
    public func switched(_ gate: any Gate) -> any Gate {
        optionalDouble("switch", in: 0...1).map { Switched(by: control($0), [gate]) } ?? gate
    }

    /// Returns the switch of a gate, which a reload keeps, and sets to what the file says.
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
    /// Returns the reference of stack files with these names, as Markdown: each transport and gate
    /// with its settings, their types and defaults, and an example.
    ///
    /// A part with a ``PartDescription`` is also explained. Each factory is run, as for
    /// a check (``Settings/isDryRun``), on an empty object and on its example.
    /// - Parameter modules: The modules whose gates are shown as DocC links; others are shown by
    ///   their names.
    /// - Returns: The text, whose first line is a heading.
    public func reference(linking modules: Set<String> = []) -> String {
        ReferenceText(linked: modules)
            .text(
                transports: transportReferences, gates: gateReferences, shared: sharedReferences,
                stacks: stackNames)
    }

    /// Returns the JSON Schema (draft 2020-12) of stack files with these names, by which editors
    /// complete and check them.
    ///
    /// The schema accepts each file that ``StackFile/check(with:)`` accepts, on two conditions.
    /// First, each part has a description without gaps (``checkReference()``). Second, its factory
    /// reads and requires the same settings for each file. If a setting is read only for a certain
    /// value of another setting, the example must have that value.
    ///
    /// If a part has no description, or its factory throws on the example, the part may have any
    /// settings besides the observed ones.
    ///
    /// Only the check finds files that do not exist, and settings that do not fit each other.
    /// - Returns: The schema; ``/TurnpikeCore/JSONValue/data(pretty:sortedNames:)`` writes it.
    public func schema() -> JSONValue {
        ReferenceSchema(
            transports: transportReferences, gates: gateReferences, shared: sharedReferences,
            stacks: stackNames
        ).root
    }

    /// Returns the gaps and mistakes of this registry's descriptions.
    ///
    /// A description must have exactly the settings that the factory reads. A described default
    /// must be the one that the factory reads, and the example must be accepted. Test that there
    /// are no issues:
    ///
    /// ```swift
    /// #expect(registry.checkReference().isEmpty)
    /// ```
    public func checkReference() -> [ConfigurationIssue] {
        (transportReferences + gateReferences + sharedReferences).flatMap(\.issues)
    }
}
