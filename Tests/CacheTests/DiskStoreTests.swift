// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("DiskStore")
struct DiskStoreTests {
    private let folder = TemporaryFolder()

    private func client(_ text: String, maxBytes: Int64 = 8 << 20) -> CachedClient {
        CachedClient(DiskStore(directory: folder.path, maxBytes: maxBytes)) { _ in
            .ok(text: text, headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        }
    }

    @Test("Entries outlive the process, in files that only their owner may read")
    func reopening() async throws {
        let first = client("one")
        #expect(try await first.get("/a", [.authorization: "Bearer hidden"]).text == "one")
        await first.client.shutdown()
        let second = client("two")
        #expect(try await second.get("/a", [.authorization: "Bearer hidden"]).text == "one")
        #expect(second.sent == 0)
        for item in folder.items {
            let attributes = try FileManager.default.attributesOfItem(atPath: item)
            let mode = try #require(attributes[.posixPermissions] as? Int)
            let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
            #expect(mode == (isFolder ? 0o700 : 0o600), "\(item)")
            let content = isFolder ? Data() : try Data(contentsOf: URL(filePath: item))
            #expect(content.range(of: Data("hidden".utf8)) == nil)
        }
    }

    @Test("A file with any changed byte gives no entry or the right one")
    func damage() async throws {
        let first = client("one")
        _ = try await first.get("/a")
        await first.client.shutdown()
        let pack = try #require(folder.entries.first)
        for name in [pack, folder.path + "/v2/index", folder.path + "/v2/lock"] {
            let whole = try Data(contentsOf: URL(filePath: name))
            // Most of the index is empty.
            let positions = whole.indices.filter {
                name == pack ? $0 % Runs.size(35, all: 5) == 0 : whole[$0] != 0
            }
            for position in positions {
                var damaged = whole
                damaged[position] ^= 0x41
                let answer = try await answer(name, damaged)
                #expect(answer.text == (answer.sent == 0 ? "one" : "two"), "\(name): \(position)")
            }
        }
        let whole = try Data(contentsOf: URL(filePath: pack))
        // The last bytes fill the file up.
        for count in stride(from: 0, to: whole.count - 64, by: Runs.size(49, all: 7)) {
            let answer = try await answer(pack, whole.prefix(count))
            #expect(answer.text == "two" && answer.sent == 1, "\(count) bytes")
        }
    }

    // What is answered where a file has changed; all is as before then.
    private func answer(_ file: String, _ data: Data) async throws -> (text: String, sent: Int) {
        let copy = TemporaryFolder()
        try FileManager.default.copyItem(
            atPath: folder.path + "/v2", toPath: copy.path + "/v2")
        try data.write(to: URL(filePath: copy.path + file.dropFirst(folder.path.count)))
        let cached = CachedClient(DiskStore(directory: copy.path, maxBytes: 8 << 20)) { _ in
            .ok(text: "two", headers: ["Cache-Control": "max-age=60"])
        }
        let text = try await cached.get("/a").text
        await cached.client.shutdown()
        return (text, cached.sent)
    }

    @Test("A half-written head leaves the previous one")
    func tornUpdate() async throws {
        let store = DiskStore(directory: folder.path)
        let key = CacheKey(url: "http://a.example/")
        try await put(store, Self.response(key, "first"), Data("content".utf8))
        let entry = try #require(try await store.entry(for: key) { _ in true })
        try await store.update(entry, to: Self.response(key, "second"))
        await store.flush()
        let file = try #require(folder.entries.first)
        var bytes = try Data(contentsOf: URL(filePath: file))
        let second = try #require(bytes.range(of: Data("second".utf8)))
        #expect(bytes.range(of: Data("first".utf8)) != nil)
        let found = try #require(try await store.entry(for: key) { _ in true })
        #expect(found.response.head.headers["X-Name"] == "second")
        bytes.replaceSubrange(second, with: Data("torn!!".utf8))
        try bytes.write(to: URL(filePath: file))
        let older = try #require(try await store.entry(for: key) { _ in true })
        #expect(older.response.head.headers["X-Name"] == "first")
        #expect(try await content(older) == Data("content".utf8))
    }

    @Test("Large content is streamed and checked; damaged content fails the body and is removed")
    func large() async throws {
        let store = DiskStore(directory: folder.path, maxBytes: 64 << 20)
        let key = CacheKey(url: "http://a.example/")
        let data = Data((0..<1_500_003).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        try await put(store, Self.response(key, "large"), data)
        let entry = try #require(try await store.entry(for: key) { _ in true })
        #expect(entry.content.length == Int64(data.count))
        #expect(try await content(entry) == data)
        let part = try await entry.content.body(65_000..<400_001).collect(upTo: 1 << 20)
        #expect(part == data[65_000..<400_001])

        let file = try #require(folder.entries.first)
        var bytes = try Data(contentsOf: URL(filePath: file))
        bytes[bytes.count - 60_000] ^= 1
        try bytes.write(to: URL(filePath: file))
        let damaged = try #require(try await store.entry(for: key) { _ in true })
        await expectError(.incomplete) { _ = try await content(damaged) }
        await store.flush()
        #expect(try await store.entry(for: key) { _ in true } == nil)
    }

    @Test("The folder keeps its bound and the entries that were used last")
    func bound() async throws {
        let store = DiskStore(directory: folder.path, maxBytes: 400_000)
        for number in 0..<60 {
            let key = CacheKey(url: "http://a.example/\(number)")
            try await put(store, Self.response(key, "x"), Data(count: 20_000))
        }
        await store.flush()
        let sizes = try folder.entries.map { path in
            try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        }
        #expect(sizes.reduce(0, +) <= 400_000)
        #expect(sizes.count >= 10)
        #expect(store.usage.evictions == 60 - sizes.count)
        #expect(store.usage.entries == sizes.count)
        let tooLarge = Self.response(CacheKey(url: "http://a.example/"), "x")
        #expect(try await store.writer(for: tooLarge, length: 60_000) == nil)
    }

    @Test("Leftovers of a dead process are removed, files of a living one stay")
    func leftovers() async throws {
        let store = DiskStore(directory: folder.path, maxBytes: 64 << 20)
        let key = CacheKey(url: "http://a.example/")
        let writer = try #require(
            try await store.writer(for: Self.response(key, "x"), length: nil))
        try await writer.write(Data(count: 400_000))
        let dead = folder.path + "/v2/tmp/1-1-a"
        try Data(count: 10).write(to: URL(filePath: dead))
        let other = DiskStore(directory: folder.path, maxBytes: 64 << 20)
        // A purge would have what is being written go too.
        try await other.remove(CacheKey(url: "http://b.example/"))
        await other.flush()
        #expect(!FileManager.default.fileExists(atPath: dead))
        try await writer.commit()
        let entry = try #require(try await store.entry(for: key) { _ in true })
        #expect(try await content(entry) == Data(count: 400_000))
        #expect(folder.items.filter { $0.contains("/v2/tmp/") }.isEmpty)
    }

    @Test("A store that fails costs misses and one note")
    func failure() async throws {
        let blocker = folder.path + "/file"
        try Data().write(to: URL(filePath: blocker))
        let notes = NoteCounter()
        let store = DiskStore(directory: blocker + "/cache")
        let cached = CachedClient(store, outside: [notes]) { _ in
            .ok(text: "one", headers: ["Cache-Control": "max-age=60"])
        }
        for _ in 0..<3 {
            #expect(try await cached.get("/a").text == "one")
            await store.flush()
        }
        await cached.client.shutdown()
        #expect(cached.sent == 3)
        #expect(notes.count == 1)
        #expect(cached.cache.statistics.failures > 0)
    }

    @Test(
        "Checksums are those of XXH64",
        arguments: [
            ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B),
            ("abc", 0x44BC_2CF5_AD77_0999),
            ("Nobody inspects the spammish repetition", 0xFBCE_A83C_8A37_8BF1),
        ] as [(String, UInt64)])
    func checksum(text: String, sum: UInt64) { #expect(XXHash64.hash(Data(text.utf8)) == sum) }

    // MARK: Parts

    static func response(_ key: CacheKey, _ name: String) -> StoredResponse {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        return StoredResponse(
            key: key, variant: Variant(fields: []),
            head: ResponseHead(
                status: .ok, headers: ["Cache-Control": "max-age=60", "X-Name": name],
                url: URL(string: key.url) ?? URL(filePath: "/")),
            requestTime: date, responseTime: date)
    }

    private func put(
        _ store: DiskStore, _ response: StoredResponse, _ data: Data
    ) async throws {
        let writer = try #require(try await store.writer(for: response, length: nil))
        var rest = data[...]
        while !rest.isEmpty {
            try await writer.write(Data(rest.prefix(100_000)))
            rest = rest.dropFirst(100_000)
        }
        try await writer.commit()
    }

    private func content(_ entry: CacheEntry) async throws -> Data {
        try await entry.content.body(0..<entry.content.length).collect(upTo: 16 << 20)
    }
}
