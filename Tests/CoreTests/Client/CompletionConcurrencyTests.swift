// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Completion handlers, from several threads")
struct CompletionConcurrencyTests {
    @Test("Each handler is called exactly once, whether the cancellation or the response wins")
    func once() async {
        let client = Client(
            MockTransport { _ in .stream([Data("a".utf8)], every: .microseconds(100)) },
            clock: SystemTimeSource())
        let queue = DispatchQueue(label: "completions", attributes: .concurrent)
        let heard = (0..<400).map { _ in Notes() }
        await withTaskGroup { group in
            for notes in heard {
                group.addTask {
                    let running = client.get(anywhere).start(Text())
                    await withTaskGroup { group in
                        group.addTask { running.cancel() }
                        group.addTask { _ = try? await running.value }
                        for _ in 0..<2 {
                            group.addTask {
                                await withCheckedContinuation { continuation in
                                    running.onCompletion(queue: queue) { result in
                                        notes.add(Self.text(of: result))
                                        // A second call traps here.
                                        continuation.resume()
                                    }
                                }
                            }
                        }
                    }
                    let end = running.state == .finished ? "a" : "cancelled"
                    #expect(Set(notes.all) == [end])
                }
            }
        }
        await withCheckedContinuation { continuation in
            queue.async(flags: .barrier) { continuation.resume() }
        }
        #expect(heard.allSatisfy { $0.all.count == 2 })
    }

    private static func text(of result: Result<String, any Error>) -> String {
        do {
            return try result.get()
        } catch {
            return error is CancellationError ? "cancelled" : "\(error)"
        }
    }
}
