// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeValkey

/// Tasks on the thread of the network.
@Suite("ValkeyServer's executor", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyExecutorTests {
    private let limit = Duration.seconds(20)

    private static var isOnThread: Bool { Thread.current.name == "turnpike.valkey" }

    private func echo(_ server: ValkeyServer, _ text: String) async throws {
        let value = try await server.send(ValkeyCommand("ECHO", text), within: limit)
        #expect(value == .bytes(Data(text.utf8)))
    }

    @Test(
        "Tasks stay on the thread, and each reply is that of its command", arguments: [1, 3, 200])
    func stays(tasks: Int) async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        try await withTaskExecutorPreference(server.executor) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<tasks {
                    group.addTask {
                        for number in 0..<20 {
                            #expect(Self.isOnThread)
                            try await echo(server, "\(task) \(number)")
                        }
                        #expect(Self.isOnThread)
                    }
                }
                try await group.waitForAll()
            }
            #expect(Self.isOnThread)
        }
        #expect(!Self.isOnThread)
        #expect(server.waiting == 0)
        await server.shutdown()
    }

    @Test("A task that never waits for anything does not keep the network from its turn")
    func yields() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        try await withTaskExecutorPreference(server.executor) {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    while !Task.isCancelled { await Task.yield() }
                    return false
                }
                group.addTask {
                    try await echo(server, "a")
                    return true
                }
                let isAnswered = try await group.next()
                #expect(isAnswered == true)
                group.cancelAll()
            }
        }
        await server.shutdown()
    }

    @Test("A command that is cancelled, or out of time, ends on the thread as elsewhere")
    func ends() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        try await withTaskExecutorPreference(server.executor) {
            try await echo(server, "before")
            peer.pause()
            defer { peer.resume() }
            let late = await #expect(throws: ClientError.self) {
                try await server.send(ValkeyCommand("PING"), within: .milliseconds(5))
            }
            #expect(late?.code == .attemptTimeout)
            // The late one's reply has not come.
            let waiting = server.waiting
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        try await server.send(ValkeyCommand("PING"), within: limit)
                    }
                }
                try await until("the command to cancel") { server.waiting == waiting + 1 }
                group.cancelAll()
            }
        }
        try await echo(server, "after")
        await server.shutdown()
    }

    @Test("Tasks outlive the client, on threads of the system, and what they send then is refused")
    func outlives() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        let executor = server.executor
        try await withTaskExecutorPreference(executor) {
            try await echo(server, "a")
            // Its own thread ends.
            await server.shutdown()
            #expect(!Self.isOnThread)
            let error = await #expect(throws: ClientError.self) {
                try await server.send(ValkeyCommand("PING"), within: limit)
            }
            #expect(error?.code == .cancelled)
        }
        let value = await Task(executorPreference: executor) { 1 }.value
        #expect(value == 1)
    }
}
