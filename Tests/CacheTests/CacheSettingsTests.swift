// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeCacheStackFiles
import TurnpikeSharedState
import TurnpikeSharedStateStackFiles
import TurnpikeStackFiles
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSerializers

@Suite("The cache in stack files")
struct CacheSettingsTests {
    private func issues(_ gate: String) throws -> [String] {
        var registry = Registry.standardForTests
        registry.registerCache()
        let text = "{\"transport\": {\"use\": \"mock\"}, \"stack\": [\(gate)]}"
        return try StackFile(JSONValue(parsing: Data(text.utf8))).check(with: registry)
            .map(\.description)
    }

    @Test("All settings are known, and each mistake is reported with its path")
    func settings() throws {
        #expect(try issues("{\"use\": \"cache\"}").isEmpty)
        let folder = TemporaryFolder()
        let full = """
            {"use": "cache", "memory": 1048576, "directory": "\(folder.path)/c", "disk": 1000000,
             "staleIfError": 60, "metrics": "\(folder.path)/m.prom", "partition": "a"}
            """
        #expect(try issues(full).isEmpty)
        // Nothing is made by a check.
        #expect(folder.items.isEmpty)
        let wrong = try issues("{\"use\": \"cache\", \"memory\": -1, \"directoy\": \"x\"}")
        #expect(wrong.count == 2)
        #expect(wrong.contains { $0.contains("stack[0].memory") })
        #expect(wrong.contains { $0.contains("stack[0].directoy") })
    }

    @Test(
        "A name of a partition is not empty",
        arguments: [#""partition": """#, #""memory": 0, "directory": "/x", "partition": " ""#])
    func partition(settings: String) throws {
        let found = try issues(#"{"use": "cache", \#(settings)}"#)
        #expect(found.count == 1)
        #expect(
            found.first?.contains("stack[0].partition: is missing; name the service") == true,
            "\(found)")
        #expect(try issues(#"{"use": "cache", "partition": "a"}"#).isEmpty)
        #expect(try issues(#"{"use": "cache", "directory": "/x"}"#).isEmpty)
    }

    @Test("The cache writes its counts to the metrics file that its settings name")
    func metrics() async throws {
        let folder = TemporaryFolder()
        let configured = try configured(folder, cache: #", "metrics": "PATH""#)
        for path in ["a", "a", "b"] { try await read(path, of: configured) }
        await configured.client.shutdown()
        let lines = try lines(folder)
        for line in [
            #"turnpike_cache_requests_total{result="hit"} 1"#,
            #"turnpike_cache_requests_total{result="miss"} 2"#, "turnpike_cache_stored_total 2",
            "turnpike_cache_entries 2",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        #expect(lines.contains { $0.hasPrefix("turnpike_cache_bytes ") })
        let help = "Size of the responses in the stores of caches, in bytes."
        #expect(lines.contains("# HELP turnpike_cache_bytes \(help)"))
        #expect(!lines.contains { $0.contains("does not describe") })
        #expect(lines.contains { $0.hasPrefix("http_client_request_duration_seconds_count{") })
    }

    @Test("A reload keeps the stored responses and reports to the meter of the new file")
    func reload() async throws {
        let folder = TemporaryFolder()
        let configured = try configured(folder, cache: "")
        try await read("a", of: configured)
        try configured.reload(file(folder, cache: #", "metrics": "PATH""#))
        try await read("a", of: configured)
        await configured.client.shutdown()
        let figures = try lines(folder).filter { $0.hasPrefix("turnpike_cache_requests") }
        #expect(figures == [#"turnpike_cache_requests_total{result="hit"} 1"#])
    }

    @Test("Caches that share a meter add up, and count evictions")
    func sharedMeter() async throws {
        let store = MetricsStore()
        let caches = [Cache(meter: store), Cache(MemoryStore(maxBytes: 40_000), meter: store)]
        for cache in caches {
            let client = Client(
                transport: MockTransport { _ in
                    .ok(
                        text: String(repeating: "x", count: 3000),
                        headers: ["Cache-Control": "max-age=60"])
                }, stack: [cache], serializers: SerializerTable(), timeSource: ManualClock())
            for number in 0..<40 {
                let response = try await client.get(Target("http://a.example/\(number)"))
                    .response()
                _ = try await response.body.collect(upTo: 4000)
            }
        }
        let usages = caches.map(\.statistics.usage)
        func value(_ name: String) -> Int {
            Int(store.figures.first { $0.key.name == "turnpike.cache." + name }?.value ?? -1)
        }
        #expect(value("entries") == usages[0].entries + usages[1].entries)
        #expect(Int64(value("bytes")) == usages[0].bytes + usages[1].bytes)
        #expect(value("evictions") == usages[1].evictions && usages[1].evictions > 0)
        // A cache that is gone counts nothing.
        withExtendedLifetime(caches) {}
    }

    @Test("Services with one shared store do not see each other's responses, nor do prefixes")
    func groups() async throws {
        let server = PlacesOfServer()
        let group = #", "group": "#
        let prefix = #", "prefix": "own""#
        for (shared, cache, own, seen) in [
            (group + #""orders""#, "", "1", "1"), (group + #""users""#, "", "2", "2"),
            ("", "", "3", "3"), (group + #""default""#, "", "4", "3"),
            // Another replica of the same service.
            (group + #""orders""#, "", "5", "1"), (group + #""users""#, "", "6", "2"),
            // The prefix decides, if one is given.
            (group + #""users""#, prefix, "7", "7"), (group + #""orders""#, prefix, "8", "7"),
        ] {
            #expect(
                try await server.text(shared: shared, cache: cache, answering: own) == seen,
                "\(shared) \(cache)")
        }
        #expect(
            server.prefixes
                == [nil, "turnpike:cache:orders", "turnpike:cache:users", "own"])
    }

    @Test("Shared state that cannot be made is one mistake, and the cache adds none")
    func brokenStore() throws {
        var registry = Registry.standardForTests
        registry.registerMiddleware()
        registry.registerCache { _, _ in nil }
        registry.register(sharedStore: "broken") { settings in
            if settings.isDryRun { return MemorySharedStore() }
            throw ClientError(.unsupported, "the store needs a library")
        }
        let file = try StackFile([
            "shared": ["use": "broken"],
            "stack": [["use": "cache", "shared": true, "partition": "a"]],
        ])
        let error = #expect(throws: ClientError.self) {
            try ConfiguredClient(file, registry: registry, serializers: SerializerTable())
        }
        #expect(error?.message == "shared: the store needs a library")
    }

    private func file(_ folder: TemporaryFolder, cache settings: String) throws -> StackFile {
        let text = """
            {"transport": {"use": "mock"}, "stack": [
                {"use": "metrics", "to": "PATH"}, {"use": "cache"\(settings)}
            ]}
            """.replacing("PATH", with: folder.path + "/m.prom")
        return try StackFile(parsing: Data(text.utf8))
    }

    private func configured(
        _ folder: TemporaryFolder, cache settings: String
    ) throws -> ConfiguredClient {
        var registry = Registry.standardForTests
        registry.registerMiddleware()
        registry.registerCache()
        return try ConfiguredClient(
            file(folder, cache: settings), registry: registry, serializers: SerializerTable(),
            timeSource: ManualClock())
    }

    private func read(_ path: String, of configured: ConfiguredClient) async throws {
        let response = try await configured.client.get(Target("http://a.example/\(path)"))
            .response()
        _ = try await response.body.collect(upTo: 100)
    }

    private func lines(_ folder: TemporaryFolder) throws -> [String] {
        try String(contentsOfFile: folder.path + "/m.prom", encoding: .utf8)
            .split(separator: "\n").map(String.init)
    }
}

extension Registry {
    fileprivate static var standardForTests: Registry {
        var registry = Registry()
        registry.register(transport: "mock") { _ in
            MockTransport { _ in
                .ok(text: "x", headers: ["Cache-Control": "max-age=60"])
            }
        }
        return registry
    }
}

/// What one server keeps for several services, by the prefixes of its keys.
private final class PlacesOfServer: Sendable {
    private let stores = Mutex<[String?: MemoryStore]>([:])

    var prefixes: Set<String?> { stores.withLock { Set($0.keys) } }

    private func store(_ prefix: String?) -> MemoryStore {
        stores.withLock { stores in
            let store = stores[prefix] ?? MemoryStore()
            stores[prefix] = store
            return store
        }
    }

    /// What a replica gets whose service answers with a private response.
    func text(shared: String, cache: String, answering own: String) async throws -> String {
        var registry = Registry()
        registry.registerSharedState()
        registry.register(transport: "mock") { _ in
            MockTransport { _ in
                .ok(text: own, headers: ["Cache-Control": "private, max-age=60"])
            }
        }
        registry.registerCache { [self] _, settings in store(settings.prefix) }
        let text = """
            {"shared": {"use": "memory"\(shared)}, "transport": {"use": "mock"},
             "stack": [{"use": "cache", "shared": true, "partition": "a"\(cache)}]}
            """
        let file = try StackFile(parsing: Data(text.utf8))
        let client = try ConfiguredClient(
            file, registry: registry, serializers: SerializerTable(), timeSource: ManualClock()
        ).client
        let answer = try await client.get("http://a.example/me").serialize(with: Text())
        await client.shutdown()
        return answer
    }
}
