// SPDX-License-Identifier: Apache-2.0

import CHiredisPeer
import Foundation
import Turnpike
import TurnpikeCache
import TurnpikeValkey
import TurnpikeValkeyCache

/// The cost of a hit in a cache on a server, compared with a GET of equal size by libhiredis in C.
///
/// There is one hit at a time, or 64 at once, which are compared with 64 commands in one pipeline.
///
/// The peer does all its work on one thread. So 64 at once are measured on the client's own thread
/// (`ValkeyServer.executor`), and also on the threads of the system (`pool`), without a bound.
enum FleetCache {
    private static let callers = 64
    private static let rounds = 15

    private struct Figures {
        var commandOne: [Double] = []
        var storeOne: [Double] = []
        var clientOne: [Double] = []
        var commandMany: [Double] = []
        var storeMany: [Double] = []
        var clientMany: [Double] = []
        var commandPoolMany: [Double] = []
        var poolMany: [Double] = []
        var clientPoolMany: [Double] = []
    }

    static func run(_ report: Report) async throws {
        guard hiredis_peer_load() != 0, let server = try await RedisProcess.start() else {
            report.line([
                ("bench", "fleet-cache"), ("skipped", "libhiredis or a server is missing"),
            ])
            return
        }
        defer { server.end() }
        // glibc returns freed memory at the end of a thread's heap to the system from 128 KiB on.
        // Without this call, a value of 64 KiB costs 15 page faults in a third of the runs.
        hiredis_peer_keep_memory()
        for bytes in [1024, 16_384, 65_536] { try await run(report, server, bytes) }
        await server.client.shutdown()
    }

    private static func run(_ report: Report, _ server: RedisProcess, _ bytes: Int) async throws {
        var options = ValkeyStore.Options()
        options.timeLimit = .seconds(5)
        options.prefix = "bench\(bytes)"
        let store = ValkeyStore(server.client, options: options)
        let transport = MockTransport(recordLimit: 0) { _ in
            .status(
                200,
                headers: [
                    "Cache-Control": "max-age=3600", "Content-Type": "application/json",
                    "ETag": "\"0123456789abcdef\"",
                    "Server": "nginx", "Vary": "Accept-Encoding", "X-Request-ID": "4711",
                    "Strict-Transport-Security": "max-age=31536000",
                ], body: Data(repeating: 0x61, count: bytes))
        }
        let client = Client(transport: transport, stack: [.cache(store, partition: "bench")])
        let urls = (0..<callers).map { "http://api.example.com/v1/items/\($0)?fields=all" }
        for url in urls {
            _ = try await client.get(Target(url)).response().body.collect(upTo: 1 << 20)
        }
        let keys = urls.map { CacheKey(url: $0) }
        guard let listing = try await store.list().first,
            let entry = try await store.entry(for: keys[0], where: { _ in true })
        else { throw BenchError("nothing was stored") }
        let content = (entry.content as? CachedData)?.data ?? Data()
        let size = bytes + EntryRecord(listing.response, content: content).tail.count
        _ = try await server.client.send(
            ValkeyCommand([Data("SET".utf8), Data("plain".utf8), Data(count: size)]),
            within: .seconds(5))
        let requests = urls.compactMap { URL(string: $0).map { Request(.get, $0) } }
        var figures = Figures()
        let one = bytes > 50_000 ? 1000 : 2000
        let many = bytes > 50_000 ? 6400 : 25_600
        for round in 0..<rounds {
            let commandOne = try command(server, one, 1)
            let storeOne = try await time(one, at: 1) { try await hits(store, keys[$0], $1) }
            let clientOne = try await time(one, at: 1) { try await calls(client, requests[$0], $1) }
            let commandMany = try command(server, many, callers)
            let poolMany = try await time(many, at: callers) { try await hits(store, keys[$0], $1) }
            let clientPoolMany = try await time(many, at: callers) {
                try await calls(client, requests[$0], $1)
            }
            if round == 0 { continue }
            figures.commandOne.append(commandOne)
            figures.storeOne.append(storeOne)
            figures.clientOne.append(clientOne)
            figures.commandPoolMany.append(commandMany)
            figures.poolMany.append(poolMany)
            figures.clientPoolMany.append(clientPoolMany)
        }
        // Measured separately, because the scheduler may leave threads on other cores after it.
        for round in 0..<rounds {
            let commandMany = try command(server, many, callers)
            let (storeMany, clientMany) = try await withTaskExecutorPreference(
                server.client.executor
            ) {
                (
                    try await time(many, at: callers) { try await hits(store, keys[$0], $1) },
                    try await time(many, at: callers) { try await calls(client, requests[$0], $1) }
                )
            }
            if round == 0 { continue }
            figures.commandMany.append(commandMany)
            figures.storeMany.append(storeMany)
            figures.clientMany.append(clientMany)
        }
        line(
            report, "one", bytes, figures.commandOne, figures.storeOne, figures.clientOne, bound: 3)
        line(
            report, "64 at once", bytes, figures.commandMany, figures.storeMany,
            figures.clientMany, bound: 1.5)
        line(
            report, "64 at once, pool", bytes, figures.commandPoolMany, figures.poolMany,
            figures.clientPoolMany, bound: nil)
        await client.shutdown()
    }

    private static func line(
        _ report: Report, _ name: String, _ bytes: Int, _ command: [Double], _ store: [Double],
        _ client: [Double], bound: Double?
    ) {
        let base = median(command)
        let fields: [(String, Report.Value)] = [
            ("bench", "fleet-cache"), ("case", .text(name)), ("bytes", .number(Double(bytes))),
            ("hiredis", .number(base)), ("store", .number(median(store))),
        ]
        let more: [(String, Report.Value)] = [
            ("client", .number(median(client))),
            ("clientRatio", .number(median(client) / base)),
        ]
        let ratio = median(store) / base
        if let bound {
            report.line(fields, "ratio", ratio, .atMost(bound), more)
        } else {
            report.line(fields + [("ratio", .number(ratio))] + more)
        }
    }

    // MARK: Loads

    private static func command(_ server: RedisProcess, _ count: Int, _ depth: Int) throws -> Double
    {
        let time = hiredis_peer_get(Int32(server.port), "plain", Int32(count), Int32(depth))
        guard time > 0 else { throw BenchError("libhiredis received nothing") }
        return time
    }

    private static func hits(_ store: ValkeyStore, _ key: CacheKey, _ count: Int) async throws {
        for _ in 0..<count {
            guard try await store.entry(for: key, where: { _ in true }) != nil else {
                throw BenchError("the entry was not found")
            }
        }
    }

    private static func calls(_ client: Client, _ request: Request, _ count: Int) async throws {
        for _ in 0..<count {
            _ = try await client.request(request).response().body.collect(upTo: 1 << 20)
        }
    }

    // Returns nanoseconds per operation. The closure gets the caller's number and a count.
    private static func time(
        _ count: Int, at callers: Int,
        _ operation: @escaping @Sendable (Int, Int) async throws -> Void
    ) async throws -> Double {
        let begun = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<callers {
                group.addTask { try await operation(caller, count / callers) }
            }
            try await group.waitForAll()
        }
        return (ContinuousClock.now - begun) / .nanoseconds(count)
    }
}
