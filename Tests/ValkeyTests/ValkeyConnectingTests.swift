// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike

@testable import TestSupport
@testable import TurnpikeValkey

@Suite(
    "A client that was just made", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyConnectingTests {
    private let limit = Duration.seconds(5)

    private func clients(of peer: ValkeyPeer) throws -> Int? {
        // Without the one that asks.
        try peer.info("connected_clients").flatMap { Int($0) }.map { $0 - 1 }
    }

    @Test("It connects before the first command, and a shutdown without one closes that")
    func early() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        try await until("a connection") { server.engine.state.withLock { $0.home.isConnected } }
        #expect(try clients(of: peer) == 1)
        await server.shutdown()
        try await until("its end") { (try? clients(of: peer)) == 0 }
    }

    @Test("A client that is never used ends with its release, however early")
    func released() async throws {
        let peer = try ValkeyPeer()
        weak var first: ValkeyEngine?
        do {
            let server = try ValkeyServer(url: peer.url)
            first = server.engine
            try await until("a connection") { server.engine.state.withLock { $0.home.isConnected } }
        }
        try await until("the end") { first == nil }
        for _ in 0..<20 {
            weak var engine: ValkeyEngine?
            do { engine = try ValkeyServer(url: peer.url).engine }
            try await until("the end") { engine == nil }
        }
        try await until("the ends of all connections") { (try? clients(of: peer)) == 0 }
    }

    @Test("What the first connection met is the error of the first command")
    func fault() async throws {
        let server = try ValkeyServer(url: "redis://127.0.0.1:\(LoopbackSocket.freePort())")
        try await until("a try") { server.engine.state.withLock { $0.home.fault != nil } }
        let error = await #expect(throws: ClientError.self) {
            try await server.send(ValkeyCommand("PING"), within: limit)
        }
        #expect(error?.code == .connection)
        #expect(error?.message.contains("is the server running there?") == true)
    }

    @Test("The nodes of a cluster are connected to before a command wants them")
    func cluster() async throws {
        let cluster = try ValkeyCluster.shared.get()
        let server = try ValkeyServer(url: cluster.url)
        try await until("all nodes") {
            server.engine.state.withLock { state in
                state.table?.nodes.count == 3
                    && state.table?.nodes.allSatisfy { address in
                        state.allNodes.contains { $0.address == address && $0.isConnected }
                    } == true
            }
        }
    }

    @Test("However often connecting has failed, the next try is soon")
    func pause() async throws {
        let server = try ValkeyServer(url: "redis://127.0.0.1:\(LoopbackSocket.freePort())")
        for _ in 0..<30 {
            server.engine.state.withLock { state in
                state.home.failures = 16
                state.home.retryAt = .min
            }
            await expectError(.connection) {
                try await server.send(ValkeyCommand("PING"), within: limit)
            }
            let pause = server.engine.state.withLock { $0.home.retryAt } - Poller.now
            #expect(pause <= 400_000_000)
        }
    }
}
