// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("A DiskStore under load and with disk errors")
struct DiskFaultTests {
    private let folder = TemporaryFolder()
    private let key = CacheKey(url: "http://a.example/")

    // It writes where it must or is told to, and never by itself.
    private func store() -> DiskStore {
        DiskStore(directory: folder.path, maxBytes: 64 << 20, writingAfter: nil)
    }

    private func put(_ store: DiskStore, _ name: String) async throws {
        let response = DiskStoreTests.response(key, name)
        let writer = try #require(try await store.writer(for: response, length: nil))
        try await writer.write(Data("content".utf8))
        try await writer.commit()
    }

    private func name(_ store: DiskStore) async throws -> String? {
        try await store.entry(for: key) { _ in true }?.response.head.headers["X-Name"]
    }

    @Test("A flush waits only for entries that came before it")
    func load() async throws {
        let store = store()
        let written = Tally()
        // Each one brings the next, as producers do that are faster than the disk.
        @Sendable func produce(_ store: DiskStore) {
            if written.add() < 1000 { store.behind(key, produce) }
        }
        store.behind(key, produce)
        await store.flush()
        #expect(written.count == 1)
        #expect(store.waiting == 1)
        _ = try await store.list()
        #expect(written.count == 2)
    }

    @Test("A writer that starts early because much waits continues until the backlog is empty")
    func chain() async throws {
        let store = DiskStore(
            directory: folder.path, maxBytes: 64 << 20, writingAfter: nil, maxBacklog: 400)
        let written = Tally()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            @Sendable func produce(_ store: DiskStore) {
                if written.add() == 300 { return continuation.resume() }
                store.behind(key, produce)
            }
            store.behind(key, produce)
        }
        await store.flush()
        #expect(store.waiting == 0)
    }

    @Test("Entries that come during a write wait for the next one")
    func portions() async throws {
        let store = DiskStore(
            directory: folder.path, maxBytes: 64 << 20, writingAfter: nil, maxBacklog: 40_000)
        store.behind(key) { $0.behind(key) { _ in } }
        let response = DiskStoreTests.response(key, "one")
        let writer = try #require(try await store.writer(for: response, length: nil))
        try await writer.write(Data(count: 20_000))
        // It is so much that all is written.
        try await writer.commit()
        // Twice: what goes on does so behind the first.
        for _ in 0..<2 { try await store.besideWrites { _ in } }
        #expect(store.waiting == 1)
        await store.flush()
        #expect(store.waiting == 0)
    }

    @Test("New heads wait for the disk if the backlog is full")
    func updates() async throws {
        let store = DiskStore(
            directory: folder.path, maxBytes: 64 << 20, writingAfter: nil, maxBacklog: 40_000)
        let response = DiskStoreTests.response(key, "one")
        func update(_ bytes: Int) async throws {
            let entry = CacheEntry(response: response, content: CachedData(Data(count: bytes)))
            try await store.update(entry, to: response)
        }
        try await update(1000)
        #expect(store.waiting == 1)
        try await update(50_000)
        #expect(store.waiting == 0)
    }

    @Test("If a response cannot be written, the previous one does not reappear")
    func replacement() async throws {
        let store = store()
        try await put(store, "old")
        await store.flush()
        let (packs, others) = (folder.path + "/v2/packs", folder.path + "/v2/others")
        try FileManager.default.moveItem(atPath: packs, toPath: others)
        try Data().write(to: URL(filePath: packs))
        try await put(store, "new")
        await store.flush()
        try FileManager.default.removeItem(atPath: packs)
        try FileManager.default.moveItem(atPath: others, toPath: packs)
        await #expect(throws: FileFault.self) { _ = try await name(store) }
        #expect(try await name(store) == nil)
        #expect(try await name(self.store()) == nil)
    }

    @Test("A file that cannot be opened does not keep an entry from being replaced and removed")
    func unreadable() async throws {
        let store = store()
        for text in ["", "two"] {
            try await put(store, "one")
            await store.flush()
            for file in folder.entries {
                try FileManager.default.removeItem(atPath: file)
                // Links are not followed.
                try FileManager.default.createSymbolicLink(
                    atPath: file, withDestinationPath: folder.path)
            }
            if text.isEmpty { try await store.remove(key) } else { try await put(store, text) }
            await store.flush()
            #expect(store.waiting == 0)
            #expect(try await name(store) == (text.isEmpty ? nil : text))
        }
    }

    @Test("A removal that fails is repeated, and until then nothing is found")
    func failingRemoval() async throws {
        try await { store in
            try await put(store, "one")
            await store.flush()
        }(store())
        let (index, other) = (folder.path + "/v2/index", folder.path + "/v2/other")
        try FileManager.default.moveItem(atPath: index, toPath: other)
        // A folder is not opened as a file is.
        try FileManager.default.createDirectory(
            atPath: index, withIntermediateDirectories: false)
        let store = store()
        try await store.remove(key)
        await store.flush()
        #expect(store.waiting == 1)
        await #expect(throws: FileFault.self) { _ = try await name(store) }
        #expect(try await name(store) == nil)
        try FileManager.default.removeItem(atPath: index)
        try FileManager.default.moveItem(atPath: other, toPath: index)
        #expect(try await name(self.store()) == "one")
        await store.flush()
        #expect(store.waiting == 0)
        #expect(try await name(self.store()) == nil)
        try await put(store, "two")
        await store.flush()
        #expect(try await name(store) == "two")
    }

    @Test(
        "A response that is dropped after a removal elsewhere leaves no older entry",
        arguments: [7, 300_000])
    func removalByOthers(bytes: Int) async throws {
        let (one, two) = (store(), store())
        try await put(one, "old")
        await one.flush()
        let response = DiskStoreTests.response(key, "new")
        let writer = try #require(try await one.writer(for: response, length: nil))
        // It counts as a removal of any key.
        _ = try await two.removeAll { _ in false }
        try await writer.write(Data(count: bytes))
        try await writer.commit()
        await one.flush()
        #expect(try await name(one) == nil)
        #expect(try await name(two) == nil)
    }

    @Test("A process that stops with the lock costs other processes misses, but blocks no call")
    func stoppedProcess() async throws {
        let first = store()
        try await put(first, "one")
        await first.flush()
        // A lock is the descriptor's: it keeps this process out like another one.
        let lock = try #require(FileHandle(forUpdatingAtPath: folder.path + "/v2/lock"))
        #expect(flock(lock.fileDescriptor, LOCK_EX) == 0)
        let store = DiskStore(
            directory: folder.path, maxBytes: 64 << 20, writingAfter: nil,
            lockPatience: .milliseconds(20))
        #expect(try await name(store) == "one")
        for _ in 0..<3 {
            // Nobody is told that something is stored which will not be.
            let fault = await #expect(throws: FileFault.self) { try await put(store, "two") }
            #expect(fault?.code == EWOULDBLOCK)
        }
        try await store.remove(key)
        #expect(try await name(store) == nil)
        await store.flush()
        let late = await #expect(throws: FileFault.self) { _ = try await name(store) }
        #expect(late?.code == EWOULDBLOCK)
        #expect(try await name(store) == nil)
        try lock.close()
        try await put(store, "three")
        await store.flush()
        #expect(try await name(store) == "three")
        #expect(try await name(self.store()) == "three")
    }

    @Test("Stores agree on an index that was damaged and made again")
    func newIndex() async throws {
        let one = store()
        try await put(one, "one")
        await one.flush()
        let index = URL(filePath: folder.path + "/v2/index")
        var bytes = try Data(contentsOf: index)
        bytes[3] ^= 1
        try await one.besideWrites { [bytes] _ in
            let file = try FileHandle(forWritingTo: index)
            try file.write(contentsOf: bytes)
            try file.close()
        }
        let two = store()
        _ = try await two.removeAll { _ in false }
        try await put(two, "two")
        await two.flush()
        try await one.remove(key)
        await one.flush()
        #expect(try await name(two) == nil)
        try await put(one, "three")
        await one.flush()
        #expect(try await name(two) == "three")
    }

    @Test("A store finds the entries of another one that created the folder again")
    func filesMadeAgain() async throws {
        let (one, two) = (store(), store())
        try await put(one, "one")
        await one.flush()
        #expect(try await name(one) == "one")
        try FileManager.default.removeItem(atPath: folder.path + "/v2/packs")
        try await put(two, "two")
        await two.flush()
        #expect(try await name(one) == "two")
        #expect(try await one.list().count == 1)
        #expect(try await name(store()) == "two")
    }

    @Test("Stores agree on a folder that was removed and made again")
    func madeAgain() async throws {
        let one = store()
        try await put(one, "one")
        await one.flush()
        try FileManager.default.removeItem(atPath: folder.path + "/v2")
        let two = store()
        _ = try await two.removeAll { _ in false }
        try await put(two, "two")
        try await one.remove(key)
        await one.flush()
        await two.flush()
        #expect(try await name(two) == nil)
        try await put(one, "three")
        await one.flush()
        #expect(try await name(two) == "three")
    }
}
