// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("DiskIndex")
struct DiskIndexTests {
    private let temporary = TemporaryFolder()

    private func folder() throws -> Folder { try Folder.named(temporary.path, .own) }

    private func index(maxBytes: Int64 = 1 << 20) throws -> DiskIndex {
        try DiskIndex.opened(in: folder(), maxBytes: maxBytes)
    }

    private func key(_ number: Int) -> CacheKey { CacheKey(url: "http://a.example/\(number)") }

    private func place(_ mark: UInt64, file: UInt32 = 1, offset: Int = 64) -> DiskIndex.Place {
        DiskIndex.Place(file: file, offset: offset, bytes: 640, mark: mark)
    }

    private func bytes() throws -> Data {
        try Data(contentsOf: URL(filePath: temporary.path + "/index"))
    }

    @Test("A place is found by the digest of its key, also by another process, until it is removed")
    func finding() throws {
        let index = try index()
        let mark = index.mark(of: key(1))
        #expect(try index.add(place(mark), since: nil) { _ in [] } == [])
        let other = try #require(try DiskIndex.existing(in: folder()))
        #expect(other.mark(of: key(1)) == mark)
        #expect(try other.places(mark) == [place(mark)])
        #expect(try other.places(other.mark(of: key(2))).isEmpty)
        #expect(try other.remove(place(mark)))
        #expect(try !index.remove(place(mark)))
        #expect(try index.places().isEmpty)
    }

    @Test("The largest place, and an entry of its own file, are kept exactly")
    func largest() throws {
        let index = try index()
        for bytes in [0, 65_535 * 64] {
            let place = DiskIndex.Place(
                file: .max, offset: 65_535 * 64, bytes: bytes, mark: UInt64(bytes))
            _ = try index.add(place, since: nil) { _ in [] }
            #expect(try index.places(UInt64(bytes)) == [place])
        }
    }

    @Test("The digest depends on method, partition, URL and index")
    func marks() throws {
        let index = try index()
        let keys = [
            CacheKey(url: "http://a.example/"), CacheKey(url: "http://a.example/b"),
            CacheKey(method: .head, url: "http://a.example/"),
            CacheKey(url: "http://a.example/", partition: "a"),
            CacheKey(url: "http://a.example/", partition: ""),
        ]
        #expect(Set(keys.map(index.mark)).count == keys.count)
        try folder().remove("index")
        #expect(try self.index().mark(of: keys[0]) != index.mark(of: keys[0]))
    }

    @Test("A sixteenth place replaces the oldest one; replaced places go first")
    func full() throws {
        let index = try index(maxBytes: 0)
        for number in 0..<15 {
            _ = try index.add(place(UInt64(number)), since: nil) { _ in [] }
        }
        #expect(try index.add(place(15), since: nil) { _ in [] } == [place(0)])
        let new = place(7, file: 2)
        #expect(try index.add(new, since: nil) { $0 } == [place(7)])
        let marks = (1...15).map(UInt64.init).filter { $0 != 7 } + [7]
        #expect(try index.places().map(\.mark) == marks)
        #expect(try index.places(7) == [new])
    }

    @Test("Only a removal by another process keeps an entry from being added")
    func removals() throws {
        let one = try index(maxBytes: 0)
        let two = try #require(try DiskIndex.existing(in: folder()))
        #expect(try one.look(1).isEmpty)
        try one.noteRemoval(1)
        try one.noteRemovals()
        let own = try one.removalsSeen(1)
        #expect(try one.add(place(1), since: own) { _ in [] } == [])
        for remove in [{ try two.noteRemoval(1) }, { try two.noteRemovals() }] {
            _ = try one.look(1)
            let before = try bytes()
            try remove()
            let seen = try one.removalsSeen(1)
            #expect(try seen != one.removalsByOthers(1))
            let after = try bytes()
            #expect(before != after)
            #expect(try one.add(place(1, file: 2), since: seen) { $0 } == nil)
            #expect(try bytes() == after)
            #expect(try one.add(place(1), since: one.removalsByOthers(1)) { $0 } == [place(1)])
        }
    }

    #if os(Linux)
    @Test("Nothing is stored without a guard where the removals of a key cannot be read")
    func unreadable() async throws {
        let store = DiskStore(directory: temporary.path, writingAfter: nil)
        let response = StoredResponse(
            key: key(1), variant: Variant(fields: []),
            head: ResponseHead(status: .ok, url: URL(filePath: "/")),
            requestTime: Date(), responseTime: Date())
        #expect(try await store.writer(for: response, length: 1) != nil)
        // The store's descriptor of the index becomes one that cannot be read.
        let path = temporary.path + "/v2/index"
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        for descriptor in descriptors.compactMap({ CInt($0) }) {
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\(descriptor)")
            guard target == path else { continue }
            let other = unsafe open("/dev/null", O_WRONLY)
            dup2(other, descriptor)
            close(other)
        }
        await #expect(throws: FileFault.self) {
            try await store.writer(for: response, length: 1)
        }
    }
    #endif

    @Test("Places of missing files are removed from all buckets, and the others are counted")
    func keeping() throws {
        // More buckets than are read at once.
        let index = try index(maxBytes: 16 << 20)
        for number in 0..<1000 {
            let mark = index.mark(of: key(number))
            _ = try index.add(place(mark, file: UInt32(number % 4 + 1)), since: nil) { _ in [] }
        }
        #expect(try index.keep(only: [2, 3, 9]) == [2: 250, 3: 250])
        #expect(try index.places().count == 500)
        #expect(try index.places(index.mark(of: key(4))).isEmpty)
        #expect(try index.places(index.mark(of: key(5))).map(\.file) == [2])
    }

    @Test("A list of all places writes nothing, also if a change is half seen or half written")
    func listing() throws {
        let index = try index(maxBytes: 0)
        _ = try index.add(place(1), since: nil) { _ in [] }
        // The mark of a second place, without the word before it.
        var torn = try bytes()
        torn[256 + 16 + 16 + 8] = 1
        try torn.write(to: URL(filePath: temporary.path + "/index"))
        let read = try #require(try DiskIndex.existing(in: folder()))
        #expect(try read.places() == [place(1)])
        #expect(try bytes() == torn)
    }

    @Test("An index with a damaged header is replaced by an empty one")
    func damage() throws {
        let first = try index()
        _ = try first.add(place(1), since: nil) { _ in [] }
        let whole = try bytes()
        for position in 0..<32 {
            var damaged = whole
            damaged[position] ^= 0x80
            try damaged.write(to: URL(filePath: temporary.path + "/index"))
            #expect(try DiskIndex.existing(in: folder()) == nil, "\(position)")
        }
        let second = try index()
        #expect(try second.places().isEmpty)
        #expect(first.isRemoved && !second.isRemoved)
        #expect(try bytes().count == Int(second.bytes))
    }

    @Test("Buckets that lie behind the end of a torn file are empty, and can be written")
    func torn() throws {
        _ = try index(maxBytes: 16 << 20)
        try bytes().prefix(256 + 100).write(to: URL(filePath: temporary.path + "/index"))
        let index = try #require(try DiskIndex.existing(in: folder()))
        let mark = index.mark(of: key(1))
        #expect(try index.places(mark).isEmpty)
        _ = try index.add(place(mark), since: index.removalsSeen(mark)) { _ in [] }
        #expect(try index.places(mark) == [place(mark)])
    }

    @Test(
        "An index has a place for each KiB of the bound; a much lower bound creates it again",
        arguments: [(0, 1), (1 << 20, 64), (100 << 20, 8192), (Int64.max, 1 << 18)])
    func size(maxBytes: Int64, buckets: Int64) throws {
        let index = try index(maxBytes: maxBytes)
        #expect(index.bytes == 256 + 256 * buckets)
        #expect(try self.index(maxBytes: maxBytes).seed == index.seed)
        // A process with a higher bound uses the index that there is.
        #expect(try self.index(maxBytes: .max).seed == index.seed)
        #expect(try (self.index(maxBytes: 0).seed == index.seed) == (buckets == 1))
    }
}
