// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeMiddleware
import TurnpikeTesting
import TurnpikeValkey

@Suite(
    "Shared state over Valkey", .serialized,
    .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct SharedStoreTests {
    // Ended with the process of the tests.
    private static let peer = Result { try ValkeyPeer() }

    @Test("On one server", arguments: SharedStoreConformance.checks)
    func conforms(_ check: SharedStoreConformance.Check) async throws {
        try await run(check, Self.peer.get().url)
    }

    // The short form is that on one server; what a cluster adds is in `ValkeyClusterTests`.
    @Test("On a cluster", .long, arguments: SharedStoreConformance.checks)
    func conformsInCluster(_ check: SharedStoreConformance.Check) async throws {
        try await run(check, ValkeyCluster.shared.get().url)
    }

    private func run(_ check: SharedStoreConformance.Check, _ url: String) async throws {
        let clients = try [ValkeyServer(url: url), ValkeyServer(url: url)]
        do {
            try await check.run(on: clients)
        } catch {
            for client in clients { await client.shutdown() }
            throw error
        }
        for client in clients { await client.shutdown() }
    }
}
