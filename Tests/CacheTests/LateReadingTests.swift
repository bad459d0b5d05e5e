// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Stored responses that are read after a deadline")
struct LateReadingTests {
    @Test("A body that arrived in time is read, stored and read late from the store")
    func late() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let content = Data(repeating: 7, count: 300_000)
        for store in [MemoryStore(), DiskStore(directory: folder.path)] as [any CacheStore] {
            let clock = ManualClock()
            let transport = DripTransport(
                [content.prefix(10), content.dropFirst(10)],
                headers: ["Cache-Control": "max-age=600"], every: .milliseconds(20))
            let client = Client(
                transport, clock: clock, Deadline(.seconds(2)), Cache(store, partition: "test"))
            for _ in 0..<2 {
                let body = try await client.get("http://a.example/").response().body
                clock.advance(by: .milliseconds(200))
                #expect(body.arrival == .complete)
                clock.advance(by: .seconds(4))
                #expect(try await body.collect(upTo: 1 << 20) == content)
                #expect(clock.timerCount == 0)
            }
            #expect(transport.sentCount == 1)
        }
    }
}
