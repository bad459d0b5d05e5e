import Foundation
import Testing
import TurnpikeCache
import TurnpikeCore

@Suite("A DiskStore under load, and where the disk fails")
struct DiskFaultTests {
    private let folder = TemporaryFolder()
    private let key = CacheKey(url: "http://a.example/")

    // It writes where it must or is told to, and never by itself.
    private func store() -> DiskStore {
        DiskStore(directory: folder.path, maxBytes: 64 << 20, writingAfter: nil)
    }

    @Test("Who waits for what was written waits for nothing that came later")
    func load() async throws {
        let store = store()
        let written = Counter()
        // Each one brings the next, as producers do that are faster than the disk.
        @Sendable func produce(_ store: DiskStore) {
            if written.next() < 1000 { store.behind(key, produce) }
        }
        store.behind(key, produce)
        await store.flush()
        #expect(written.count == 1)
        #expect(store.waiting == 1)
        _ = try await store.list()
        #expect(written.count == 2)
    }

    @Test("What begins to write because much waits goes on until nothing does")
    func chain() async throws {
        let store = DiskStore(
            directory: folder.path, maxBytes: 64 << 20, writingAfter: nil, maxBacklog: 400)
        let written = Counter()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            @Sendable func produce(_ store: DiskStore) {
                if written.next() == 300 { return continuation.resume() }
                store.behind(key, produce)
            }
            store.behind(key, produce)
        }
        await store.flush()
        #expect(store.waiting == 0)
    }
}
