// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeValkey

@Suite("Cancelled commands", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyCancellationTests {
    private struct Outcome {
        var answers = 0
        var cancellations = 0
        var wrong = 0
    }

    private static func echo(_ server: ValkeyServer, _ number: Int) async -> Outcome {
        var outcome = Outcome()
        let text = Data("\(number)".utf8)
        let task = Task {
            try await server.send(
                ValkeyCommand([Data("ECHO".utf8), text]), within: .seconds(20))
        }
        // At any moment between the start and the reply.
        for _ in 0..<Int.random(in: 0..<12) { await Task.yield() }
        task.cancel()
        do {
            if try await task.value == .bytes(text) {
                outcome.answers += 1
            } else {
                outcome.wrong += 1
            }
        } catch is CancellationError {
            outcome.cancellations += 1
        } catch {
            outcome.wrong += 1
        }
        return outcome
    }

    @Test("After 20,000 of them nothing waits, and each reply is that of its command")
    func many() async throws {
        let peer = try ValkeyPeer()
        let server = try ValkeyServer(url: peer.url)
        let sum = await withTaskGroup(of: Outcome.self) { group in
            for task in 0..<50 {
                group.addTask {
                    var sum = Outcome()
                    for number in 0..<400 {
                        let outcome = await Self.echo(server, task * 400 + number)
                        sum.answers += outcome.answers
                        sum.cancellations += outcome.cancellations
                        sum.wrong += outcome.wrong
                    }
                    return sum
                }
            }
            return await group.reduce(into: Outcome()) { sum, outcome in
                sum.answers += outcome.answers
                sum.cancellations += outcome.cancellations
                sum.wrong += outcome.wrong
            }
        }
        #expect(sum.wrong == 0)
        #expect(sum.answers + sum.cancellations == 20_000)
        // Both happen, or the moments were no random ones.
        #expect(sum.answers > 0 && sum.cancellations > 0, "\(sum)")
        try await until("the replies of all") { server.waiting == 0 }
        for number in 0..<100 {
            #expect(
                try await server.send(ValkeyCommand("ECHO", "\(number)"), within: .seconds(5))
                    == .bytes(Data("\(number)".utf8)))
        }
    }
}
