// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware
public import TurnpikeSharedState
public import TurnpikeStackFiles

extension Registry {
    /// Adds or replaces a kind of store under a name that `shared.use` of a stack file may have.
    ///
    /// ```swift
    /// registry.register(sharedStore: "postgres") { settings in
    ///     let address = settings.required("address")
    ///     return settings.isDryRun ? PlaceholderStore() : PostgresStore(address)
    /// }
    /// ```
    ///
    /// The store is made once for each file and kept over a reload that leaves `shared` as it is.
    /// It is closed (``/TurnpikeSharedState/SharedStore/shutdown()``) when the client of the file shuts down. The settings
    /// of ``/TurnpikeSharedState/SharedState`` (`timeLimit`, `replicas`, `group` and `metrics`) are read by this method.
    /// A file that is only checked (``/TurnpikeStackFiles/Settings/isDryRun``) opens nothing: the factory
    /// should then read its settings and return a ``PlaceholderStore``.
    /// - Parameters:
    ///   - name: The name.
    ///   - description: The description of the store, for the reference and the schema of stack
    ///     files.
    ///   - make: Reads the settings and makes the store.
    public mutating func register(
        sharedStore name: String, description: PartDescription? = nil,
        _ make: @escaping @Sendable (Settings) throws -> any SharedStore
    ) {
        let whole = description.map { description in
            PartDescription(
                description.summary, settings: description.settings + SharedState.settings,
                example: description.example)
        }
        register(shared: name, description: whole) { settings in
            let store = Result { try make(settings) }
            // All mistakes are reported, also if the store cannot be made.
            return SharedStatePart(try SharedState(settings) { try store.get() })
        }
    }

    /// Adds the kind `memory` to what `shared` of stack files may use.
    public mutating func registerSharedState() {
        register(
            sharedStore: "memory",
            description: PartDescription(
                """
                Keeps the state in this process (`MemorySharedStore`), for tests of a file: no \
                replica shares it.
                """,
                example: #"{"use": "memory", "timeLimit": 0.02}"#)
        ) { _ in MemorySharedStore() }
    }
}

extension Settings {
    /// Returns the shared state of the file, if `shared` of this gate says that it uses it.
    ///
    /// `true` and the name in `shared.use` of the file say so. A gate that names what the file does
    /// not describe has a mistake. The same instance is returned to all gates of a file.
    /// - Returns: The state; nil if the gate does not use it.
    public func sharedState() -> SharedState? {
        sharedPart("shared") { SharedStatePart(SharedState(PlaceholderStore())) }?.state
    }
}

/// Shared state that a stack file has described.
private final class SharedStatePart: SharedGates {
    let state: SharedState

    init(_ state: SharedState) { self.state = state }

    func cooldowns(key: (@Sendable (Request) -> String?)?) -> Cooldowns {
        key == nil ? state.cooldowns : Cooldowns(shared: state, key: key)
    }

    func rateLimit(
        _ rules: [QuotaRule], queue: Int, scope: RateLimit.Scope, key: String?,
        cooldowns: Cooldowns?, meter: (any GateMeter)?
    ) -> any RateLimiting {
        SharedRateLimit(
            rules, queue: queue, scope: scope, shared: state, key: key, cooldowns: cooldowns,
            meter: meter)
    }

    // The file has said that secrets may be stored.
    func tokens(key: String) -> (any BearerTokenSharing)? {
        (try? SharedTokens(state, key: key, storesSecrets: true))?.sharing()
    }

    func shutdown() async {
        await state.flush()
        await state.store.shutdown()
    }
}

extension SharedState {
    fileprivate static let settings: [(key: String, value: SettingDescription)] = [
        (
            "timeLimit",
            """
            How long an operation on the store may take, in seconds, before a gate goes on locally.
            """
        ),
        (
            "replicas",
            """
            How many replicas share the state. Without it, they are counted by their heartbeats. A \
            limit is divided by the number while the store does not answer.
            """
        ),
        ("group", "What the replicas are replicas of, if several services use one store."),
        ("metrics", .metrics),
    ]

    fileprivate convenience init(
        _ settings: Settings, _ store: () throws -> any SharedStore
    ) throws {
        let timeLimit = settings.double("timeLimit", default: 0.02, in: 0.001...60)
        let replicas = settings.optionalInt("replicas", in: 1...1_000_000)
        let group = settings.string("group") ?? "default"
        let meter = settings.meter()
        self.init(
            try store(), timeLimit: .seconds(timeLimit), replicas: replicas, group: group,
            meter: meter)
    }
}
