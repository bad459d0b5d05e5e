// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeMiddleware
import TurnpikeSharedState
import TurnpikeTraffic
import TurnpikeValkey

@Suite(
    "Cancelled waits under a quota on a server",
    .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct CancelledWaitTests {
    // Whole again 1000 s after its last use, so not before it is looked at.
    private static let rule = QuotaRule(1000, per: .seconds(1), burst: 1_000_000)
    private static let count = Runs.size(1000, all: 20_000)
    private static let key = "turnpike:{default|http://a.example}:quota:1000.0/1000000000/1000000.0"

    private final class Counts: Sendable {
        let sent = Atomic(0)
        let cancelled = Atomic(0)
    }

    /// Counts what it is asked to send, also for calls that are cancelled.
    private struct Counter: Transport {
        let counts: Counts
        var capabilities: TransportCapabilities { [] }

        func send(_ request: Request, context: Context) async throws -> Response {
            counts.sent.add(1, ordering: .relaxed)
            return Response(to: request, status: 204)
        }

        func shutdown() async {}
    }

    /// What the server has counted: how far ahead TAT is, and when that was written, in permits.
    private func counted(by peer: ValkeyPeer) throws -> (backlog: Double, time: Double) {
        let text = try #require(try peer.command("GET", Self.key).text, "the quota was never used")
        let parts = text.split(separator: " ").compactMap { Double($0) }
        try #require(parts.count == 2)
        return (parts[0] / 1000, parts[1] / 1000)
    }

    /// One call, which is cancelled at any moment before its end, or never.
    /// - Returns: Whether it ended because of that.
    private static func isCancelled(_ client: Client, _ number: Int) async throws -> Bool {
        let call = Task { try await client.get("http://a.example/").empty() }
        if number % 8 != 0 {
            // Up to some milliseconds: before, while and after it waits.
            for _ in 0..<(1 << Int.random(in: 0..<11)) { await Task.yield() }
            call.cancel()
        }
        do {
            try await call.value
            return false
        } catch let error where ClientError.isCancellation(error) {
            return true
        }
    }

    // TAT counts each permit that is taken and not given back, as long as the quota is never whole.
    @Test("After thousands of them the server has counted the requests that were sent, and no more")
    func many() async throws {
        let peer = try ValkeyPeer()
        let counts = Counts()
        let servers = try (0..<2).map { _ in try ValkeyServer(url: peer.url) }
        // A busy machine must not turn this into a test of the local limit.
        let limits = servers.map {
            SharedRateLimit(
                [Self.rule], shared: SharedState($0, timeLimit: .seconds(20), replicas: 2))
        }
        let clients = limits.map { Client(transport: Counter(counts: counts), stack: Stack([$0])) }
        // As if calls had just used the burst, but for the quarter that is kept for leases.
        let time = try #require(try peer.command("TIME").list)
        let now = ((time[0].integer ?? 0) - 1_767_225_600) * 1_000_000 + (time[1].integer ?? 0)
        try peer.command("SET", Self.key, "750000000 \(now)")
        let before = try counted(by: peer)

        try await withThrowingTaskGroup { group in
            for caller in 0..<64 {
                group.addTask {
                    var number = caller
                    while counts.cancelled.load(ordering: .relaxed) < Self.count {
                        number += 1
                        if try await Self.isCancelled(clients[caller % 2], number) {
                            counts.cancelled.add(1, ordering: .relaxed)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        // Idle permits go back.
        for limit in limits { await limit.shutdown() }
        let after = try counted(by: peer)
        let taken = after.backlog - before.backlog + after.time - before.time
        let sent = counts.sent.load(ordering: .relaxed)
        #expect(sent > Self.count / 20, "some calls are not cancelled")
        #expect(abs(taken - Double(sent)) < 0.5)
        for client in clients { await client.shutdown() }
        for server in servers { await server.shutdown() }
    }
}
