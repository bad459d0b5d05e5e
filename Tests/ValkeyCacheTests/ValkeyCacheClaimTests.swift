// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeStackFiles
import TurnpikeSupport
import TurnpikeTesting
import TurnpikeValkey
import TurnpikeValkeyStackFiles

@testable import TurnpikeCache
@testable import TurnpikeValkeyCache

@Suite("One request for a fleet", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyCacheClaimTests {
    private static func options(_ lock: Duration) -> ValkeyStore.Options {
        var options = ValkeyStore.Options.patient
        options.fleetLock = lock
        return options
    }

    private func clients(
        _ replicas: Replicas, _ transport: MockTransport
    ) -> [Client] {
        replicas.stores.map {
            Client(
                transport: transport,
                stack: [Cache(TieredStore(MemoryStore(), $0), partition: "test")])
        }
    }

    private func stampede(
        _ clients: [Client], _ begun: Tally = Tally()
    ) async throws -> [String] {
        try await withThrowingTaskGroup(of: String.self) { group in
            for client in clients {
                for _ in 0..<50 {
                    group.addTask {
                        begun.add()
                        return try await client.get("http://a.example/a").string()
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("200 callers of four replicas send one request; what is not stored lets all go")
    func stampede() async throws {
        let replicas = try Replicas(4, options: Self.options(.seconds(60)))
        for (control, requests) in [("max-age=60", 1), ("no-store", 200)] {
            try replicas.peer.command("FLUSHALL")
            let mayGo = SharedValue<Void>()
            let transport = MockTransport { _ in
                try await mayGo.value()
                return .ok(text: "one", headers: ["Cache-Control": control])
            }
            let begun = Tally()
            let clients = clients(replicas, transport)
            async let texts = stampede(clients, begun)
            try await until("all callers") { begun.count == 200 && transport.sentCount > 0 }
            #expect(transport.sentCount == 1)
            mayGo.settle(.success(()))
            #expect(try await texts.allSatisfy { $0 == "one" })
            #expect(transport.sentCount == requests)
            for client in clients { await client.shutdown() }
        }
    }

    @Test("A holder that dies is waited for until its lock ends")
    func deadHolder() async throws {
        let replicas = try Replicas(2, options: Self.options(.seconds(1)))
        guard case .named(let partition) = CachePartition("test") else { return }
        // That of the client's request.
        let key = CacheKey(url: "http://a.example/a", partition: partition)
        guard case .granted(let token) = try await replicas.stores[0].claim(key) else {
            Issue.record("no claim")
            return
        }
        guard case .held(let rest) = try await replicas.stores[1].claim(key) else {
            Issue.record("two claims")
            return
        }
        #expect(rest > .zero && rest <= .seconds(1))
        let (peer, name) = (replicas.peer, StoreKey(key, prefix: "turnpike:cache").claim)
        let transport = MockTransport { _ in
            // By now it is somebody else's.
            let holder = try peer.command("GET", name).text
            #expect(holder != token)
            return .ok(text: "one", headers: ["Cache-Control": "max-age=60"])
        }
        #expect(try await stampede([clients(replicas, transport)[1]]).count == 50)
        #expect(transport.sentCount >= 1)
        // Its token ends nobody else's claim.
        try await replicas.stores[0].release(token, of: key, waitersGo: true)
        #expect(try await replicas.stores[1].claim(key) != .unneeded)
    }

    @Test("A stack file's cache keeps its entries on the server of the file")
    func stackFile() async throws {
        var registry = Registry.standard
        registry.registerValkeyCache()
        let text = registry.reference(linking: ["TurnpikeMiddleware"])
        for name in ["fleetLock", "maxEntryBytes", "frontLifetime", "shared"] {
            #expect(text.contains("`\(name)`"))
        }
        let file = try StackFile(
            parsing: Data(#"{"stack": [{"use": "cache", "shared": true}]}"#.utf8))
        #expect(file.check(with: registry).contains { $0.description.contains("shared") })
    }

    @Test("What one client of a stack file has stored, another one finds")
    func stackFileEntries() async throws {
        let peer = try ValkeyPeer()
        let transport = MockTransport { _ in
            .ok(text: "one", headers: ["Cache-Control": "max-age=60"])
        }
        var registry = Registry.standard
        registry.registerValkey()
        registry.registerValkeyCache()
        registry.register(transport: "mock") { _ in transport }
        let file = try StackFile([
            "shared": ["use": "valkey", "url": .string(peer.url), "timeLimit": 10],
            "transport": ["use": "mock"],
            "stack": [
                ["use": "cache", "shared": "valkey", "partition": "test", "id": "cache"]
            ],
        ])
        #expect(file.check(with: registry).map(\.description) == [])
        for _ in 0..<2 {
            let client = try ConfiguredClient(
                file, registry: registry, serializers: .standard
            ).client
            #expect(try await client.get("http://a.example/").string() == "one")
            await client.shutdown()
        }
        #expect(transport.sentCount == 1)
    }

    @Test("Services on one server do not see each other's private responses")
    func stackFileGroups() async throws {
        let peer = try ValkeyPeer()
        for group in ["orders", "users"] {
            var registry = Registry.standard
            registry.registerValkey()
            registry.registerValkeyCache()
            registry.register(transport: "mock") { _ in
                MockTransport { _ in
                    .ok(text: group, headers: ["Cache-Control": "private, max-age=60"])
                }
            }
            let file = try StackFile([
                "shared": ["use": "valkey", "url": .string(peer.url), "group": .string(group)],
                "transport": ["use": "mock"],
                "stack": [["use": "cache", "shared": true, "partition": "test"]],
            ])
            let client = try ConfiguredClient(
                file, registry: registry, serializers: .standard
            ).client
            #expect(try await client.get("http://a.example/me").string() == group)
            await client.shutdown()
        }
        let names = try #require(try peer.command("KEYS", "*").list?.compactMap(\.text))
        #expect(names.count == 2)
        for group in ["orders", "users"] {
            #expect(names.count { $0.hasPrefix("turnpike:cache:\(group):{") } == 1, "\(names)")
        }
    }
}
