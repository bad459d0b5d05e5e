// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeSharedState
import TurnpikeValkey

/// A shared limit without leases: each call asks the server.
///
/// It is compared with the same script call and with a GET of `redis-benchmark` over one
/// connection.
enum FleetRoundTrip {
    private static let calls = 3000
    private static let rounds = 5

    static func run(_ report: Report, _ server: RedisProcess) async throws {
        let state = SharedState(server.client, timeLimit: .seconds(1), replicas: 1)
        let transport = MockTransport(recordLimit: 0) { _ in .status(204) }
        // A burst of one leaves no permits for a lease.
        let shared = Client(
            transport: transport, stack: [.sharedRateLimit(perSecond: 1e6, shared: state)])
        let plain = Client(transport: transport, stack: [])
        let script = try await script(server, shared)
        var (micros, own, get, same) = ([Double](), [Double](), [Double](), [Double]())
        for _ in 0..<rounds {
            own.append(try await time(plain))
            micros.append(try await time(shared))
            let key = ["GET", "bench"].map { Data($0.utf8) }
            if let time = try server.benchmark(calls, key) { get.append(time) }
            if let script, let time = try server.benchmark(calls, script) { same.append(time) }
        }
        report.line([
            ("bench", "fleet"), ("case", "roundTrip"), ("µsPerCall", .number(median(micros))),
            ("withoutGate", .number(median(own))),
            ("redisBenchmarkSameScript", .number(median(same))),
            ("redisBenchmarkGet", .number(median(get))),
        ])
        await shared.shutdown()
    }

    private static func time(_ client: Client) async throws -> Double {
        let begin = ContinuousClock.now
        for _ in 0..<calls { _ = try await client.get(FleetLimit.url).response() }
        return (ContinuousClock.now - begin) / .microseconds(1) / Double(calls)
    }

    /// The command that a call sends, read from the log of the server.
    private static func script(_ server: RedisProcess, _ client: Client) async throws -> [Data]? {
        func send(_ command: ValkeyCommand) async throws -> ValkeyValue {
            try await server.client.send(command, within: .seconds(1))
        }
        for _ in 0..<3 { _ = try await client.get(FleetLimit.url).response() }
        _ = try await send(ValkeyCommand("CONFIG", "SET", "slowlog-log-slower-than", "0"))
        _ = try await client.get(FleetLimit.url).response()
        let log = try await send(ValkeyCommand("SLOWLOG", "GET", "16"))
        _ = try await send(ValkeyCommand("CONFIG", "SET", "slowlog-log-slower-than", "-1"))
        guard case .array(let entries) = log else { return nil }
        for case .array(let entry) in entries where entry.count > 3 {
            guard case .array(let words) = entry[3] else { continue }
            let command = words.compactMap { word -> Data? in
                if case .bytes(let data) = word { data } else { nil }
            }
            if command.first == Data("EVALSHA".utf8) { return command }
        }
        return nil
    }
}
