// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeValkey

@Suite(
    "ValkeyServer, from several threads",
    .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyConcurrencyTests {
    private let limit = Duration.seconds(20)

    private func echo(_ server: ValkeyServer, _ text: String) async throws {
        let value = try await server.send(ValkeyCommand("ECHO", text), within: limit)
        #expect(value == .bytes(Data(text.utf8)))
    }

    @Test("Tasks on the thread and elsewhere share connections, and lose no command")
    func mixed() async throws {
        let peer = try ValkeyPeer()
        var configuration = ValkeyServer.Configuration()
        configuration.connections = 2
        let server = try ValkeyServer(url: peer.url, configuration: configuration)
        let large = String(repeating: "x", count: 70_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<64 {
                let preference: (any TaskExecutor)? = task % 2 == 0 ? server.executor : nil
                group.addTask(executorPreference: preference) {
                    for number in 0..<50 {
                        let isLarge = (task + number) % 16 == 0
                        try await echo(server, "\(task) \(number) \(isLarge ? large : "")")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(server.waiting == 0)
        await server.shutdown()
    }

    @Test("A client whose thread sleeps is woken by tasks that come to it from elsewhere")
    func wakes() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        for number in 0..<500 {
            try await withTaskExecutorPreference(server.executor) {
                try await echo(server, "\(number)")
            }
        }
        await server.shutdown()
    }
}
