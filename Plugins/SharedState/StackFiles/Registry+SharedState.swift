// SPDX-License-Identifier: Apache-2.0

import TurnpikeAuthentication
import TurnpikeAuthenticationStackFiles
import TurnpikeCore
import TurnpikeMiddleware
public import TurnpikeSharedState
public import TurnpikeStackFiles
import TurnpikeTraffic
import TurnpikeTrafficStackFiles

extension Registry {
    /// Adds or replaces a kind of store.
    ///
    /// `shared.use` of a stack file selects the store by name.
    ///
    /// ```swift
    /// registry.register(sharedStore: "postgres") { settings in
    ///     let address = settings.required("address")
    ///     return settings.isDryRun ? MemorySharedStore() : PostgresStore(address)
    /// }
    /// ```
    ///
    /// The registry creates the store once for each file. A reload that does not change `shared`
    /// keeps the store. At the shutdown, the file's client closes the store
    /// (``/TurnpikeSharedState/SharedStore/shutdown()``). This method reads the settings of
    /// ``/TurnpikeSharedState/SharedState`` (`timeLimit`, `replicas`, `group` and `metrics`). If a
    /// file is only checked (``/TurnpikeStackFiles/Settings/isDryRun``), the factory should read
    /// the settings, open no connection, and return an unused
    /// ``/TurnpikeSharedState/MemorySharedStore``.
    /// - Parameters:
    ///   - name: The name.
    ///   - description: The description of the store, for the reference and the schema of stack
    ///     files.
    ///   - make: Reads the settings and creates the store.
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
            return SharedStatePart(try SharedState(settings) { try store.get() })
        }
    }

    /// Adds the kind `memory` to the stores that `shared` of stack files may use.
    public mutating func registerSharedState() {
        register(
            sharedStore: "memory",
            description: PartDescription(
                """
                Keeps the state in this process (`MemorySharedStore`), for tests of a file. No \
                replica shares this state.
                """,
                example: #"{"use": "memory", "timeLimit": 0.02}"#)
        ) { _ in MemorySharedStore() }
    }
}

extension Settings {
    /// Returns the shared state of the file, if the setting `shared` of this gate selects it.
    ///
    /// The setting is `true`, or the name in `shared.use` of the file. Any other name is an error
    /// in the file. All gates of a file get the same instance.
    /// - Returns: The shared state, or nil if the gate does not use shared state.
    public func sharedState() -> SharedState? {
        sharedPart(SharedStatePart.self)?.state
    }
}

private final class SharedStatePart: SharedLimits, SharedTokenGates {
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

    // The settings of the file have already allowed the storage of secrets.
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
            How long an operation on the store may take, in seconds, before a gate decides locally.
            """
        ),
        (
            "replicas",
            """
            How many replicas share the state. By default, their heartbeats are counted. A limit \
            is divided by this number while the store does not answer.
            """
        ),
        ("group", "The name of the service, if several services use one store."),
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
