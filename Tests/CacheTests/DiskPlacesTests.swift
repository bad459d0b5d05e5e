// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("How a DiskStore's entries get their places")
struct DiskPlacesTests {
    private let folder = TemporaryFolder()

    // It writes where it must or is told to, and never by itself.
    private func store(maxBytes: Int64 = 64 << 20) -> DiskStore {
        DiskStore(directory: folder.path, maxBytes: maxBytes, writingAfter: nil)
    }

    private func key(_ number: Int) -> CacheKey { CacheKey(url: "http://a.example/\(number)") }

    private func put(
        _ store: DiskStore, _ key: CacheKey, _ name: String, bytes: Int = 7, variant: String? = nil
    ) async throws {
        let plain = DiskStoreTests.response(key, name)
        let fields = variant.map { [Variant.Field(name: "accept", value: $0)] } ?? []
        let response = StoredResponse(
            key: key, variant: Variant(fields: fields), head: plain.head,
            requestTime: plain.requestTime, responseTime: plain.responseTime)
        let writer = try #require(try await store.writer(for: response, length: nil))
        try await writer.write(Data(repeating: 1, count: bytes))
        try await writer.commit()
    }

    private func name(_ store: DiskStore, _ key: CacheKey) async throws -> String? {
        try await store.entry(for: key) { _ in true }?.response.head.headers["X-Name"]
    }

    // What its files take on the disk.
    private var room: Int64 {
        folder.entries.reduce(0) { room, path in
            let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64
            return room + ((size ?? 0) + 4095) / 4096 * 4096
        }
    }

    @Test("A head with the highest number is replaced with its entry")
    func highest() async throws {
        let first = store()
        try await put(first, key(1), "one")
        await first.flush()
        let file = URL(filePath: try #require(folder.entries.first))
        var bytes = try Data(contentsOf: file)
        let head = try #require(bytes.range(of: Data("TrpCachE".utf8))).lowerBound + 64
        // The number is 1, and its bits are in the checksum too.
        for (position, mask) in ([0xFE] + [UInt8](repeating: 0xFF, count: 7)).enumerated() {
            bytes[head + position] ^= mask
            bytes[head + 16 + position] ^= mask
        }
        try bytes.write(to: file)
        let second = store()
        let entry = try #require(try await second.entry(for: key(1)) { _ in true })
        try await second.update(entry, to: DiskStoreTests.response(key(1), "two"))
        await second.flush()
        #expect(try await name(store(), key(1)) == "two")
    }

    @Test("Entries that are stored together share a file, which is removed with the last one")
    func sharing() async throws {
        let store = store()
        for number in 0..<150 { try await put(store, key(number), "one") }
        await store.flush()
        #expect(folder.entries.count == 1)
        #expect(store.usage.entries == 150)
        #expect(store.usage.bytes == room)
        for number in 0..<150 { #expect(try await name(self.store(), key(number)) == "one") }
        for number in 0..<149 { try await store.remove(key(number)) }
        await store.flush()
        #expect(store.usage.entries == 1)
        #expect(try await name(store, key(7)) == nil)
        #expect(try await name(store, key(149)) == "one")
        let file = try #require(folder.entries.first)
        let content = try Data(contentsOf: URL(filePath: file))
        // What was removed is not in it any more.
        #expect(content.range(of: Data(key(149).url.utf8)) != nil)
        #expect(content.range(of: Data(key(7).url.utf8)) == nil)
        try await put(store, key(149), "two")
        await store.flush()
        #expect(try await name(store, key(149)) == "two")
        #expect(folder.entries.count == 1)
        #expect(folder.entries != [file])
        #expect(store.usage.bytes == 4096)
    }

    @Test("Entries that are not read at once have files of their own")
    func alone() async throws {
        let store = store()
        for (number, bytes) in [10, 200_000, 10, 300_000, 10].enumerated() {
            try await put(store, key(number), "one", bytes: bytes)
        }
        await store.flush()
        #expect(folder.entries.count == 5)
        let entry = try #require(try await store.entry(for: key(1)) { _ in true })
        try await store.remove(key(1))
        await store.flush()
        // Whoever has found it reads it to its end.
        let data = try await entry.content.body(0..<200_000).collect(upTo: 1 << 20)
        #expect(data == Data(repeating: 1, count: 200_000))
        #expect(folder.entries.count == 4)
        #expect(store.usage.bytes == room)
    }

    @Test("Of several entries for one key in a batch the last counts, per variant")
    func variants() async throws {
        let store = store()
        for text in ["one", "two"] {
            for variant in ["a", "b"] {
                try await put(store, key(0), text + variant, variant: variant)
            }
        }
        await store.flush()
        #expect(store.usage.entries == 2)
        for variant in ["a", "b"] {
            let entry = try await store.entry(for: key(0)) { $0.variant.fields[0].value == variant }
            #expect(entry?.response.head.headers["X-Name"] == "two" + variant)
        }
        for number in 0..<12 { try await put(store, key(0), "x", variant: String(number)) }
        await store.flush()
        #expect(store.usage.entries == 8)
        let entry = try await store.entry(for: key(0)) { $0.variant.fields[0].value == "11" }
        #expect(entry != nil)
    }

    @Test("A file that the index does not name is removed when the folder is opened")
    func unnamed() async throws {
        let first = store()
        try await put(first, key(0), "one")
        await first.flush()
        let file = try #require(folder.entries.first)
        // As of a process that was killed before it could tell.
        try FileManager.default.copyItem(
            atPath: file, toPath: folder.path + "/v2/packs/0000abcd")
        let second = store()
        #expect(try await second.removeAll { _ in false } == 0)
        #expect(folder.entries == [file])
        #expect(try await name(second, key(0)) == "one")
        try FileManager.default.removeItem(atPath: file)
        let third = store()
        #expect(try await third.removeAll { _ in false } == 0)
        #expect(third.usage == CacheUsage())
    }

    @Test("More entries than the index has places for displace only the oldest")
    func crowd() async throws {
        let store = store(maxBytes: 1 << 20)
        for number in 0..<3000 { try await put(store, key(number), "x", bytes: 1) }
        await store.flush()
        let count = try await store.list().count
        #expect(store.usage.entries == count)
        #expect(store.usage.bytes == room)
        #expect(room <= 1 << 20)
        #expect(count > 600)
        #expect(try await name(store, key(2999)) == "x")
    }

    @Test("A folder works with a lowered bound, although its index was created for a higher one")
    func loweredBound() async throws {
        let before = store(maxBytes: 1 << 30)
        try await put(before, key(1), "before")
        await before.flush()
        let store = store(maxBytes: 8 << 20)
        try await put(store, key(2), "after")
        await store.flush()
        #expect(try await name(store, key(2)) == "after")
        #expect(room <= 8 << 20)
        // Whoever still has the old bound goes on with what there is now, but for what it had begun.
        for _ in 0..<2 {
            try await put(before, key(3), "again")
            await before.flush()
        }
        #expect(try await name(before, key(3)) == "again")
        #expect(try await name(store, key(2)) == "after")
    }
}
