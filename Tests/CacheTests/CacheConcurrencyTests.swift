// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("The cache under many calls at once")
struct CacheConcurrencyTests {
    @Test("Counts are right under a thousand calls at once")
    func concurrency() async throws {
        let cached = CachedClient { request in
            .ok(text: request.url.path(), headers: ["Cache-Control": "max-age=60"])
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let path = "/\(number % 10)"
                    #expect(try await cached.get(path).text == path)
                    if number % 100 == 0 { _ = try await cached.send(.delete, path) }
                }
            }
            try await group.waitForAll()
        }
        let counts = cached.cache.statistics
        #expect(counts.hits + counts.misses == 1000)
        #expect(counts.bypassed == 10)
        #expect(cached.sent == counts.misses + 10)
    }
}
