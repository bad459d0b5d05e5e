// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCache
import TurnpikeCore
public import TurnpikeSharedState
import TurnpikeSharedStateStackFiles
public import TurnpikeStackFiles
import TurnpikeSupport

extension Registry {
    /// Adds the gates `cache` and `coalesce` to the names of stack files.
    /// - Parameter shared: Creates a cache store on the store of the file's `shared`, for gates
    ///   that use `shared`. The result is nil if the store is unsuitable.
    public mutating func registerCache(
        shared: @escaping @Sendable (any SharedStore, SharedStoreSettings) -> (any CacheStore)? = {
            _, _ in nil
        }
    ) {
        register(
            gate: "cache",
            description: PartDescription(
                """
                Answers requests with stored responses: a private HTTP cache (RFC 9111). Place the \
                gate inside `redirect` and `cookies`, outside `retry` and the limits.
                """,
                settings: [
                    "memory": "The maximum number of bytes in memory; 0 means only on disk.",
                    "directory":
                        "The folder of the cache on disk. By default, the cache is only in memory.",
                    "disk": "The maximum number of bytes on disk.",
                    "staleIfError": """
                    How long after its lifetime a response may be served instead of an error, unless \
                    the response itself states this time.
                    """,
                    "shared": """
                    Whether entries are also stored in the shared state of the file: true, or the \
                    name in `shared.use`.
                    """,
                    "partition": """
                    The name of the service, and of the account that it uses, if any, such as \
                    `"catalog as deploy-bot"`. Required with `shared`. Caches with the same \
                    partition share responses. If there is no partition, but an inner gate or the \
                    transport adds a credential, each client finds only its own responses.
                    """,
                    "prefix": "The prefix of the keys of shared entries.",
                    "maxEntryBytes": "The maximum number of bytes of one shared entry.",
                    "frontLifetime": """
                    How long memory serves an entry before the shared store is asked again.
                    """,
                    "fleetLock": """
                    How long a miss waits, at most, for another replica's request for the same \
                    response. Without this time, each replica sends its own request.
                    """,
                    "identityFields": """
                    Additional fields that identify the user, besides credentials and cookies.
                    """,
                    "metrics": .metrics,
                ],
                example:
                    #"{"use": "cache", "directory": "/var/cache/app", "partition": "catalog as deploy-bot"}"#
            )
        ) { try Cache(settings: $0, shared: shared) }
        register(
            gate: "coalesce",
            description: PartDescription(
                """
                Sends identical requests with a safe method only once at a time, and returns the \
                response to all callers.
                """,
                settings: ["maxBody": "The maximum number of bytes of content that callers share."],
                example: #"{"use": "coalesce", "maxBody": 1048576}"#)
        ) { Coalesce(maxBody: $0.int("maxBody", default: 1_048_576, in: 0...1_073_741_824)) }
    }
}

extension Cache {
    private struct Setting: Hashable {
        let memory: Int
        let directory: String?
        let disk: Int
        let frontLifetime: Duration?
        let shared: SharedStoreSettings
        // A reload with another shared state does not keep the cache's entries.
        let state: Identity?
    }

    private struct Identity: Hashable {
        let state: SharedState

        static func == (left: Self, right: Self) -> Bool { left.state === right.state }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(state)) }
    }

    init(
        settings: Settings,
        shared make: (any SharedStore, SharedStoreSettings) -> (any CacheStore)?
    ) throws {
        let state = settings.sharedState()
        var shared = SharedStoreSettings()
        let group = state.flatMap { $0.group == "default" ? nil : "turnpike:cache:\($0.group)" }
        shared.prefix = settings.string("prefix") ?? group
        shared.maxEntryBytes = settings.optionalInt("maxEntryBytes", in: 1...(1 << 30))
        shared.fleetLock = settings.optionalSeconds("fleetLock")
        let setting = Setting(
            memory: settings.int("memory", default: 16 << 20, in: 0...(1 << 40)),
            directory: settings.string("directory"),
            disk: settings.int("disk", default: 256 << 20, in: 0...(1 << 50)),
            frontLifetime: settings.optionalSeconds("frontLifetime", orZero: true),
            shared: shared, state: state.map { Identity(state: $0) })
        if state != nil, setting.directory != nil {
            settings.issue(
                at: "directory", "entries can be on disk or in the shared state, but not in both")
        }
        let partition = settings.string("partition")
        if partition.map({ Grammar.trimmed($0).isEmpty }) ?? (state != nil) {
            settings.issue(
                at: "partition",
                "is missing; name the service that owns the responses, and the account that it"
                    + " uses, such as \"catalog as deploy-bot\"")
        }
        var options = Options()
        options.staleIfError = settings.seconds("staleIfError", default: .zero, orZero: true)
        options.identityFields = Set(settings.headerNames("identityFields"))
        let meter = settings.meter()
        if settings.isDryRun {
            self = Cache(MemoryStore(), options: options).with(
                partition: partition, options: options)
            return
        }
        let store = state.flatMap { make($0.store, shared) }
        if state != nil, store == nil {
            settings.issue(
                at: "shared",
                "the shared state of the file cannot keep entries of a cache; remove the setting, or"
                    + " register a cache for that store")
        }
        let kept = settings.reloadable("entries", for: setting, updating: { $0.report(to: meter) })
        {
            Cache(Self.store(setting, store), partition: "", meter: meter)
        }
        self = kept.with(partition: partition, options: options)
    }

    private static func store(
        _ setting: Setting, _ shared: (any CacheStore)?
    ) -> any CacheStore {
        let memory = MemoryStore(maxBytes: setting.memory)
        let back: any CacheStore
        if let shared {
            back = shared
        } else if let directory = setting.directory {
            back = DiskStore(directory: directory, maxBytes: Int64(setting.disk))
        } else {
            return memory
        }
        return setting.memory == 0
            ? back : TieredStore(memory, back, frontLifetime: setting.frontLifetime)
    }
}

/// The settings of a stack file for a cache store that replicas share.
public struct SharedStoreSettings: Sendable, Hashable {
    /// The prefix of the store's keys, or nil for the default of the store.
    public var prefix: String?
    /// The maximum number of bytes of an entry, or nil for the default of the store.
    public var maxEntryBytes: Int?
    /// The longest wait of a call for the response to another replica, or nil for no wait.
    public var fleetLock: Duration?

    init() {}
}
