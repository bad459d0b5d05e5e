// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore

@Suite("ResponseBody, from several threads")
struct ResponseBodyConcurrencyTests {
    private struct Chunks: AsyncSequence, AsyncIteratorProtocol, Sendable {
        var left = 20
        func makeAsyncIterator() -> Self { self }
        mutating func next() async -> Data? {
            if left == 0 { return nil }
            left -= 1
            await Task.yield()
            return Data([UInt8(left)])
        }
    }

    @Test("A body that is read, cancelled and dropped at the same time ends once")
    func ends() async {
        let ends = (0..<500).map { _ in Tally() }
        let bodies = ends.map { tally in
            let body = ResponseBody(Chunks())
            body.onEnd { _ in tally.add() }
            return body
        }
        await atOnce(
            bodies,
            { body in _ = try? await body.collect(upTo: 100) },
            { $0.cancel() },
            { $0.canceller.cancel(.drop) },
            { body in body.onChunk { _ in } })
        #expect(ends.allSatisfy { $0.count == 1 })
    }

    @Test("Of two readers one gets the content, and the other is refused")
    func twoReaders() async {
        let results = Notes()
        let read: @Sendable (ResponseBody) async -> Void = { body in
            do {
                results.add("\(try await body.collect(upTo: 100).count)")
            } catch {
                results.add("\((error as? ClientError)?.code ?? .protocol)")
            }
        }
        await atOnce((0..<500).map { _ in ResponseBody(Chunks()) }, read, read)
        #expect(results.all.count { $0 == "20" } == 500)
        #expect(results.all.count { $0 == "\(ClientError.Code.unsupported)" } == 500)
    }

    @Test("A body that is dropped during a pull ends")
    func drop() async {
        let ended = Tally()
        await withTaskGroup { group in
            for _ in 0..<500 {
                group.addTask {
                    let body = ResponseBody(Chunks())
                    body.onEnd { _ in ended.add() }
                    let reading = Task { for try await _ in body { break } }
                    body.cancel(.drop)
                    _ = try? await reading.value
                }
            }
        }
        #expect(ended.count == 500)
    }
}
