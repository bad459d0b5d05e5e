// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCache
import TurnpikeCore

/// What the cache's gate states of itself.
@Suite struct CacheFactsTests {
    @Test func `a cache in memory holds an entry and a shared answer`() {
        let gate = Cache(MemoryStore(maxBytes: 800, maxEntryBytes: 100))
        let bytes: Int64 = 100 + (1 << 20) + 1
        #expect(
            gate.facts(for: nil)?.effects == [
                .answers(.stored),
                .waits(atMost: nil, reason: "the validation of a stored response"),
                .replays(times: 3), .storesResponses, .holdsMemory(atMost: bytes),
            ])
        #expect(gate.facts(for: nil)?.kinds == [.cache])
    }

    @Test func `a cache on disk holds a buffer in memory, and the entry on disk`() {
        let disk = DiskStore(directory: "/nowhere", maxBytes: 8 << 20)
        #expect(
            disk.entryBounds == CacheEntryBounds(memory: 512 << 10, disk: 1 << 20))
        let both = TieredStore(MemoryStore(maxBytes: 8000, maxEntryBytes: 1000), disk)
        #expect(both.entryBounds == CacheEntryBounds(memory: (512 << 10) + 1000, disk: 1 << 20))
        #expect(
            Cache(both, partition: "test").facts(for: nil)?.effects.last
                == .holdsDisk(atMost: 1 << 20))
    }

    @Test func `requests that are never looked up are passed over`() {
        let gate = Cache()
        #expect(gate.facts(for: Request(.get, "https://a.test/"))?.passedOver == nil)
        #expect(gate.facts(for: Request(.options, "https://a.test/"))?.passedOver != nil)
    }
}
