// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCache
import TurnpikeCacheStackFiles
import TurnpikeCore
import TurnpikeSharedState
import TurnpikeSharedStateStackFiles
public import TurnpikeStackFiles
import TurnpikeValkey
import TurnpikeValkeyCache

extension Registry {
    /// Adds the kind `valkey` to the stores that `shared` of stack files may use.
    public mutating func registerValkey() {
        register(
            sharedStore: "valkey",
            description: PartDescription(
                """
                Keeps the state on a Valkey or Redis server (`ValkeyServer`), which all replicas of a \
                service reach.
                """,
                settings: [
                    "url": """
                    The address: `redis://user:password@host:6379/0`, with `rediss` for TLS, or \
                    `unix:///path` for a socket. Several hosts with commas between them are nodes of \
                    a cluster, or a primary and its replicas.
                    """,
                    "connections": "The number of connections to each node.",
                    "connectTimeout":
                        "The time for finding a host, connecting and logging in together.",
                    "maxWaitingCommands": "If so many commands wait, another fails at once.",
                    "maxWaitingBytes":
                        "If so many bytes wait to be sent, a further command fails at once.",
                ],
                example:
                    #"{"use": "valkey", "url": "redis://cache.internal:6379/0", "replicas": 12}"#)
        ) { settings in
            let url = settings.required("url")
            let configuration = ValkeyServer.Configuration(settings: settings)
            let meter = settings.meter()
            guard settings.isDryRun else {
                return try ValkeyServer(url: url, configuration: configuration, meter: meter)
            }
            // The check of a file creates no client, because the check may run on another machine.
            if url.isEmpty { return MemorySharedStore() }
            do {
                return MemorySharedStore(hidesTraffic: try ValkeyServer.hidesTraffic(url: url))
            } catch {
                settings.issue(at: "url", (error as? ClientError)?.message ?? "\(error)")
                return MemorySharedStore()
            }
        }
    }
}

extension ValkeyServer.Configuration {
    fileprivate init(settings: Settings) {
        self.init()
        connections = settings.int("connections", default: connections, in: 1...16)
        connectLimit = settings.seconds("connectTimeout", default: connectLimit)
        maxWaitingCommands = settings.int(
            "maxWaitingCommands", default: maxWaitingCommands, in: 1...(1 << 24))
        maxWaitingBytes = settings.int(
            "maxWaitingBytes", default: maxWaitingBytes, in: 1024...(1 << 30))
    }
}

extension Registry {
    /// Adds the gate `cache` to the names of stack files.
    ///
    /// The gate may store its entries on the server of the file's `shared`.
    ///
    /// The gate replaces the gate of `registerCache(shared:)`, and has the same settings.
    public mutating func registerValkeyCache() {
        registerCache { store, settings in
            guard let server = store as? ValkeyServer else { return nil }
            var options = ValkeyStore.Options()
            options.prefix = settings.prefix ?? options.prefix
            options.maxEntryBytes = settings.maxEntryBytes ?? options.maxEntryBytes
            options.fleetLock = settings.fleetLock
            return ValkeyStore(server, options: options)
        }
    }
}
