import Foundation
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
            let cached = CachedClient(store, outside: [Deadline(.seconds(2))]) { _ in
                .arriving(
                    [content.prefix(10), content.dropFirst(10)],
                    headers: ["Cache-Control": "max-age=600"], every: .milliseconds(20))
            }
            for _ in 0..<2 {
                let body = try await cached.client.get("http://a.example/").response().body
                cached.clock.advance(by: .milliseconds(200))
                #expect(body.arrival == .complete)
                cached.clock.advance(by: .seconds(4))
                #expect(try await body.collect(upTo: 1 << 20) == content)
                #expect(cached.clock.timerCount == 0)
            }
            #expect(cached.sent == 1)
        }
    }
}
