// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Client, from several threads")
struct ClientConcurrencyTests {
    private let transport = MockTransport { _ in
        .stream([Data("a".utf8), Data("b".utf8)], every: .microseconds(300))
    }

    private func end(of call: Call) async -> String {
        do {
            return try await call.serialize(with: Text())
        } catch is CancellationError {
            return "cancelled"
        } catch {
            return "\((error as? ClientError)?.code ?? .protocol)"
        }
    }

    @Test("A shutdown during calls lets each of them end, and none begin")
    func shutdown() async {
        for grace in [Duration.zero, .seconds(5)] {
            let client = Client(transport, clock: SystemTimeSource())
            let ends = Notes()
            await withTaskGroup { group in
                for number in 0..<300 {
                    group.addTask { ends.add(await end(of: client.get(anywhere))) }
                    if number == 150 { group.addTask { await client.shutdown(grace: grace) } }
                }
            }
            #expect(ends.all.count == 300)
            #expect(Set(ends.all).isSubset(of: ["ab", "cancelled"]), "\(Set(ends.all))")
            #expect(await end(of: client.get(anywhere)) == "cancelled")
        }
    }

    @Test("Stacks are replaced and calls cancelled while others run")
    func replace() async {
        let client = Client(transport, clock: SystemTimeSource())
        let gate = Around { request, _, next in try await next(request) }
        await atOnce(
            Array(0..<200),
            { _ in
                let end = await end(of: client.get(anywhere))
                #expect(["ab", "cancelled"].contains(end))
            },
            { number in client.replace(stack: number % 2 == 0 ? [gate, gate] : []) },
            { number in if number % 20 == 0 { client.cancelAll() } },
            { _ in _ = client.stack })
        #expect(await end(of: client.get(anywhere)) == "ab")
    }

    @Test("All tasks that wait for a running call return, with the same outcome unless cancelled")
    func awaiters() async {
        let client = Client(transport, clock: SystemTimeSource())
        let returned = Tally()
        await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    let running = client.get(anywhere).start(Text())
                    let waiters = (0..<8).map { _ in
                        Task { () -> String in
                            defer { returned.add() }
                            do {
                                return try await running.value
                            } catch {
                                return "\(error is CancellationError)"
                            }
                        }
                    }
                    waiters[0].cancel()
                    if number % 2 == 0 { running.cancel() }
                    for await _ in running.progress {}
                    var heard: Set<String> = []
                    for waiter in waiters.dropFirst() { heard.insert(await waiter.value) }
                    _ = await waiters[0].value
                    // A response may come before the cancellation.
                    let isCancelled = running.state == .cancelled
                    #expect(heard == [isCancelled ? "true" : "ab"])
                    #expect(running.state == .finished || isCancelled && number % 2 == 0)
                }
            }
        }
        #expect(returned.count == 1600)
    }
}
