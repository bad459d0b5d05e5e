// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("MemoryStore and TieredStore")
struct MemoryStoreTests {
    private func put(_ store: any CacheStore, _ name: String, _ bytes: Int) async throws {
        let key = CacheKey(url: "http://a.example/\(name)")
        let response = DiskStoreTests.response(key, name)
        guard let writer = try await store.writer(for: response, length: nil) else { return }
        try await writer.write(Data(count: bytes))
        try await writer.commit()
    }

    private func has(_ store: any CacheStore, _ name: String) async throws -> Bool {
        let key = CacheKey(url: "http://a.example/\(name)")
        return try await store.entry(for: key) { _ in true } != nil
    }

    @Test("The store keeps its bound, and a single scan displaces no entry that was used again")
    func scan() async throws {
        let store = MemoryStore(maxBytes: 200_000)
        for number in 0..<50 {
            try await put(store, "hot\(number)", 1000)
            #expect(try await has(store, "hot\(number)"))
        }
        for number in 0..<5000 { try await put(store, "scan\(number)", 1000) }
        #expect(store.usage.bytes <= 200_000)
        #expect(store.usage.evictions > 4000)
        for number in 0..<50 { #expect(try await has(store, "hot\(number)")) }
    }

    @Test("An entry that its origin confirms keeps its rank")
    func confirmed() async throws {
        let store = MemoryStore(maxBytes: 200_000)
        for number in 0..<50 {
            let name = "hot\(number)"
            try await put(store, name, 1000)
            let key = CacheKey(url: "http://a.example/\(name)")
            let entry = try #require(try await store.entry(for: key) { _ in true })
            try await store.update(entry, to: DiskStoreTests.response(key, "confirmed"))
        }
        for number in 0..<5000 { try await put(store, "scan\(number)", 1000) }
        for number in 0..<50 { #expect(try await has(store, "hot\(number)")) }
    }

    @Test("Entries that are no longer used make room for used ones")
    func adaptation() async throws {
        let store = MemoryStore(maxBytes: 200_000)
        for name in ["old", "new"] {
            for number in 0..<200 {
                try await put(store, "\(name)\(number)", 1000)
                _ = try await has(store, "\(name)\(number)")
            }
        }
        #expect(store.usage.bytes <= 200_000)
        #expect(try await has(store, "new199"))
        #expect(try await !has(store, "old0"))
    }

    @Test("A key keeps its last sixteen variants, each found and replaced separately")
    func variants() async throws {
        let store = MemoryStore()
        let key = CacheKey(url: "http://a.example/a")
        func find(_ variant: Variant) async throws -> Int64? {
            try await store.entry(for: key) { $0.variant == variant }?.content.length
        }
        let all = (0..<20).map { Variant(fields: [.init(name: "a", value: String($0))]) }
        for (number, variant) in (Array(all.enumerated()) + [(12, all[12])]) {
            let response = DiskStoreTests.response(key, "a")
            let writer = try await store.writer(
                for: StoredResponse(
                    key: key, variant: variant, head: response.head,
                    requestTime: response.requestTime, responseTime: response.responseTime),
                length: nil)
            try await writer?.write(Data(count: number + 1))
            try await writer?.commit()
        }
        #expect(store.usage.entries == 16)
        for number in 0..<20 {
            #expect(try await find(all[number]) == (number < 4 ? nil : Int64(number + 1)))
        }
        // One from the middle, the first and the last: the chain holds.
        for number in [10, 4, 19] {
            let isGone: @Sendable (StoredResponse) -> Bool = { $0.variant == all[number] }
            #expect(try await store.removeAll(where: isGone) == 1)
            #expect(try await find(all[number]) == nil)
        }
        #expect(store.usage.entries == 13)
        try await store.remove(key)
        #expect(store.usage.entries == 0 && store.usage.bytes == 0)
    }

    @Test("An entry above the maximum size is not stored")
    func tooLarge() async throws {
        let store = MemoryStore(maxBytes: 80_000, maxEntryBytes: 1000)
        try await put(store, "fits", 1000)
        try await put(store, "large", 1001)
        #expect(try await has(store, "fits"))
        #expect(try await !has(store, "large"))
    }

    @Test("Two tiers: an entry that is too large for the front removes the old one there")
    func grown() async throws {
        let front = MemoryStore(maxBytes: 80_000)
        let store = TieredStore(front, MemoryStore())
        try await put(store, "a", 1000)
        #expect(try await has(front, "a"))
        try await put(store, "a", 70_000)
        #expect(try await !has(front, "a"))
        let found = try await store.entry(for: CacheKey(url: "http://a.example/a")) { _ in true }
        #expect(found?.content.length == 70_000)
    }

    @Test("Two tiers: an entry that cannot be written to the back removes the old one there")
    func failingBack() async throws {
        let (front, back) = (MemoryStore(), FailingStore())
        let store = TieredStore(front, back)
        try await put(store, "a", 1000)
        back.fail()
        await expectError(.connection) { try await put(store, "a", 2000) }
        #expect(try await has(front, "a"))
        try await front.removeAll { _ in true }
        #expect(try await !has(store, "a"))
    }

    @Test("Two tiers: an entry that the front has lost returns to it from the back")
    func tiers() async throws {
        let folder = TemporaryFolder()
        let front = MemoryStore()
        let back = DiskStore(directory: folder.path)
        let store = TieredStore(front, back)
        try await put(store, "a", 1000)
        #expect(try await has(front, "a"))
        #expect(try await has(back, "a"))
        _ = try await front.removeAll { _ in true }
        #expect(try await has(store, "a"))
        #expect(try await has(front, "a"))
        #expect(try await store.list().count == 1)
        try await store.remove(CacheKey(url: "http://a.example/a"))
        #expect(try await !has(store, "a"))
    }
}
