// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

private struct PlainText: ContentSerializer {
    func serialize(_ content: Data, of head: ResponseHead) -> String {
        String(decoding: content, as: UTF8.self)
    }
}

@Suite("Completion handlers and monitors")
struct CompletionTests {
    private let queue = DispatchQueue(label: "completion")

    private func client(_ answer: MockResponse, _ stack: Stack = []) -> Client {
        Client(
            transport: MockTransport { _ in answer }, stack: stack, serializers: SerializerTable())
    }

    @Test("A handler is called once on its queue, even if the handle was dropped")
    func once() async throws {
        let count = Mutex(0)
        let text = try await withCheckedThrowingContinuation { continuation in
            client(.ok(text: "a")).get("http://a.example/").onCompletion(PlainText(), queue: queue)
            {
                dispatchPrecondition(condition: .onQueue(queue))
                count.withLock { $0 += 1 }
                continuation.resume(with: $0)
            }
        }
        #expect(text == "a" && count.withLock { $0 } == 1)
    }

    @Test("A handler is called for a cancelled call and for one that has already ended")
    func cancelled() async throws {
        let running = client(.ok().delayed(by: .seconds(3600))).get("http://a.example/").start(
            PlainText())
        running.cancel()
        let results = Mutex<[Result<String, any Error>]>([])
        for _ in 0..<2 {
            await withCheckedContinuation { continuation in
                running.onCompletion(queue: queue) { result in
                    results.withLock { $0.append(result) }
                    continuation.resume()
                }
            }
        }
        let all = results.withLock { $0 }
        #expect(all.count == 2)
        for result in all { #expect(throws: CancellationError.self) { try result.get() } }
    }
}
