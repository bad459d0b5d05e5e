// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore
import TurnpikeMiddleware

extension Registry {
    /// Adds the gate `cache` to the names of stack files.
    public mutating func registerCache() {
        register(
            gate: "cache",
            description: PartDescription(
                """
                Answers requests from what was answered before: a private HTTP cache (RFC 9111). \
                Place it inside `redirect` and `cookies`, outside `retry` and the limits.
                """,
                settings: [
                    "memory": "The most bytes in memory; with 0, everything is on disk.",
                    "directory":
                        "The folder of the cache on disk; without one, it is in memory alone.",
                    "disk": "The most bytes on disk.",
                    "staleIfError": """
                    How long after its lifetime a response may stand in for an error, if the \
                    response does not say so itself.
                    """,
                    "identityFields": """
                    More header fields that identify the user, beside credentials and cookies.
                    """,
                    "metrics": """
                    Where figures of the gate are written: a file, or `"stderr"`; or, as `"meter:NAME"`, \
                    a meter that the program has registered.
                    """,
                ],
                example: #"{"use": "cache", "memory": 16777216, "directory": "/var/cache/app"}"#)
        ) { try Cache(settings: $0) }
    }
}

extension Cache {
    private struct Setting: Hashable {
        let memory: Int
        let directory: String?
        let disk: Int
    }

    init(settings: Settings) throws {
        let setting = Setting(
            memory: settings.int("memory", default: 16 << 20, in: 0...(1 << 40)),
            directory: settings.string("directory"),
            disk: settings.int("disk", default: 256 << 20, in: 0...(1 << 50)))
        var options = Options()
        options.staleIfError = settings.seconds("staleIfError", default: .zero, orZero: true)
        options.identityFields = Set(settings.headerNames("identityFields"))
        let meter = settings.meter()
        if settings.isDryRun {
            self.init(options: options)
            return
        }
        let state = settings.kept(
            "entries", for: setting, updating: { $0.counts.move(to: meter) },
            { CacheState(store: Self.store(setting), meter: meter) })
        self.init(state: state, options: options)
    }

    private static func store(_ setting: Setting) -> any CacheStore {
        let memory = MemoryStore(maxBytes: setting.memory)
        guard let directory = setting.directory else { return memory }
        let disk = DiskStore(directory: directory, maxBytes: Int64(setting.disk))
        return setting.memory == 0 ? disk : TieredStore(memory, disk)
    }
}
