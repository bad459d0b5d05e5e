import Foundation
import Testing
import TurnpikeCache
import TurnpikeCore

@Suite("How a DiskStore's entries get their places")
struct DiskPlacesTests {
    private let folder = TemporaryFolder()
    private let other = TemporaryFolder()
    private let key = CacheKey(url: "http://a.example/")

    // It writes where it must or is told to, and never by itself.
    private func store(_ folder: TemporaryFolder) -> DiskStore {
        DiskStore(directory: folder.path, maxBytes: 64 << 20, writingAfter: nil)
    }

    private func put(
        _ store: DiskStore, _ key: CacheKey, _ name: String, bytes: Int = 7
    ) async throws {
        let response = DiskStoreTests.response(key, name)
        let writer = try #require(try await store.writer(for: response, length: nil))
        try await writer.write(Data(repeating: 1, count: bytes))
        try await writer.commit()
    }

    private func name(_ store: DiskStore) async throws -> String? {
        try await store.entry(for: key) { _ in true }?.response.head.headers["X-Name"]
    }

    // The entry's file as it is in the other folder, and what it is to be called in this one.
    private func stored(
        _ name: String, bytes: Int = 7
    ) async throws -> (source: String, place: String) {
        let store = store(other)
        try await put(store, key, name, bytes: bytes)
        await store.flush()
        let source = try #require(other.entries.first)
        let place = folder.path + source.dropFirst(other.path.count)
        // The folder that it belongs in is there, as it is in a cache that is not new.
        try FileManager.default.createDirectory(
            atPath: URL(filePath: place).deletingLastPathComponent().path,
            withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return (source, place)
    }

    @Test("A first entry is made where it belongs, without another file")
    func first() async throws {
        let place = try await stored("elsewhere").place
        let store = store(folder)
        #expect(try await name(store) == nil)
        try await store.removeAll { _ in true }
        let temporaries = folder.path + "/v1/tmp"
        try FileManager.default.removeItem(atPath: temporaries)
        try Data().write(to: URL(filePath: temporaries))
        try await put(store, key, "one")
        await store.flush()
        #expect(try await name(store) == "one")
        #expect(folder.entries == [place])
        #expect(store.usage.entries == 1)
    }

    @Test("An entry that the filter knows nothing of is replaced", arguments: [false, true])
    func unknown(isTorn: Bool) async throws {
        let (source, place) = try await stored("old")
        let store = store(folder)
        try await store.removeAll { _ in true }
        let whole = try Data(contentsOf: URL(filePath: source))
        try (isTorn ? whole.prefix(100) : whole).write(to: URL(filePath: place))
        try await put(store, key, "new")
        await store.flush()
        #expect(try await name(store) == "new")
        #expect(folder.entries == [place])
    }

    // The larger one is not read whole when it is looked up.
    @Test(
        "A file that is not whole yet is no entry, and is left to its writer",
        arguments: [7, 200_000])
    func unfinished(bytes: Int) async throws {
        let (source, place) = try await stored("one", bytes: bytes)
        let writer = store(folder)
        try await put(writer, key, "one", bytes: bytes)
        await writer.flush()
        // As another process sees it while it is written.
        let whole = try Data(contentsOf: URL(filePath: source))
        try whole.prefix(200).write(to: URL(filePath: place))
        let reader = store(folder)
        #expect(try await name(reader) == nil)
        try whole.write(to: URL(filePath: place))
        await reader.flush()
        #expect(try await name(reader) == "one")
    }

    @Test("What a store has noted ahead for many changes, it has put right behind them")
    func usage() async throws {
        let (one, two) = (store(folder), store(folder))
        for number in 0..<150 {
            try await put(one, CacheKey(url: "http://a.example/\(number)"), "x")
        }
        await one.flush()
        #expect(one.usage.entries == 150)
        try await put(two, key, "y")
        await two.flush()
        #expect(two.usage.entries == 151)
        #expect(two.usage.bytes == 151 * 4096)
    }
}
