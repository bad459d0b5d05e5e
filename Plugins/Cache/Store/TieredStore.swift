import Foundation
import Synchronization

/// A small, fast store in front of a large one.
///
/// What is stored goes to both; what is found in the back, and is in memory then, is put in front
/// too. A fault of the back costs what it holds and is thrown; the front goes on.
public final class TieredStore: CacheStore {
    private let front: any CacheStore
    private let back: any CacheStore
    // How often something went or was replaced: what was found before is not put in front then.
    private let changes = Atomic<UInt64>(0)

    /// Creates a store of two.
    public init(_ front: any CacheStore, _ back: any CacheStore) {
        self.front = front
        self.back = back
    }

    /// Finds an entry, in the front or else in the back.
    public func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry? {
        if let entry = try await front.entry(for: key, where: isMatch) { return entry }
        let before = changes.load(ordering: .sequentiallyConsistent)
        guard let entry = try await back.entry(for: key, where: isMatch) else { return nil }
        if let data = (entry.content as? CachedData)?.data,
            isUnchanged(since: before),
            let writer = try await front.writer(for: entry.response, length: Int64(data.count))
        {
            try await writer.write(data)
            try await writer.commit()
            if !isUnchanged(since: before) { try await front.remove(key) }
        }
        return entry
    }

    private func isUnchanged(since count: UInt64) -> Bool {
        changes.load(ordering: .sequentiallyConsistent) == count
    }

    // Changes the back before the front. What a look-up has found in the back before, it has put in
    // front by the time that the front changes, or sees that there was a change.
    fileprivate func change<Value: Sendable>(
        back: @Sendable () async throws -> Value, front: @Sendable () async throws -> Value
    ) async throws -> (Value, Value) {
        let second: Result<Value, any Error>
        do { second = .success(try await back()) } catch { second = .failure(error) }
        changes.wrappingAdd(1, ordering: .sequentiallyConsistent)
        let first = try await front()
        return (first, try second.get())
    }

    /// Begins to store a response in both; nil where neither wants it.
    public func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)? {
        let first = try await front.writer(for: response, length: length)
        do {
            let second = try await back.writer(for: response, length: length)
            if first == nil, second == nil { return nil }
            // Who does not want it must not go on with what it takes the place of.
            return TieredWriter(
                self, back, response.key,
                first ?? RemovingWriter(store: front, key: response.key),
                second ?? RemovingWriter(store: back, key: response.key))
        } catch {
            guard let first else { throw error }
            return TieredWriter(self, back, response.key, first, FailedWriter(error: error))
        }
    }

    /// Puts another head in an entry's place, in both.
    public func update(_ entry: CacheEntry, to response: StoredResponse) async throws {
        _ = try await change {
            try await back.update(entry, to: response)
        } front: {
            try await front.update(entry, to: response)
        }
    }

    /// Removes all entries under a key, from both.
    public func remove(_ key: CacheKey) async throws {
        _ = try await change {
            try await back.remove(key)
        } front: {
            try await front.remove(key)
        }
    }

    /// Removes all entries for which a condition holds, from both.
    @discardableResult
    public func removeAll(
        where condition: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> Int {
        let counts = try await change {
            try await back.removeAll(where: condition)
        } front: {
            try await front.removeAll(where: condition)
        }
        return max(counts.0, counts.1)
    }

    /// All entries, each once.
    public func list() async throws -> [CacheListing] {
        struct Identity: Hashable {
            let key: CacheKey
            let variant: Variant
        }
        var seen: Set<Identity> = []
        return (try await back.list() + front.list()).filter { listing in
            seen.insert(
                Identity(key: listing.response.key, variant: listing.response.variant)
            ).inserted
        }
    }

    /// How much both hold; an entry in both counts once, its bytes twice.
    public var usage: CacheUsage {
        let (first, second) = (front.usage, back.usage)
        return CacheUsage(
            entries: max(first.entries, second.entries), bytes: first.bytes + second.bytes,
            evictions: first.evictions + second.evictions)
    }

    /// Returns when all that was committed is safe.
    public func flush() async {
        await front.flush()
        await back.flush()
    }
}

private final class TieredWriter: CacheWriter {
    private let store: TieredStore
    private let back: any CacheStore
    private let key: CacheKey
    private let first: any CacheWriter
    private let second: any CacheWriter
    private let fault = Mutex<(any Error)?>(nil)

    init(
        _ store: TieredStore, _ back: any CacheStore, _ key: CacheKey, _ first: any CacheWriter,
        _ second: any CacheWriter
    ) {
        self.store = store
        self.back = back
        self.key = key
        self.first = first
        self.second = second
    }

    func write(_ chunk: Data) async throws {
        try await first.write(chunk)
        if fault.withLock({ $0 != nil }) { return }
        do {
            try await second.write(chunk)
        } catch {
            second.abandon()
            fault.withLock { $0 = error }
        }
    }

    func commit() async throws {
        _ = try await store.change {
            if let fault = fault.withLock({ $0 }) {
                // What was there is not what came.
                try? await back.remove(key)
                throw fault
            }
            try await second.commit()
        } front: {
            try await first.commit()
        }
    }

    func abandon() {
        first.abandon()
        second.abandon()
    }
}

/// Stands for the writer of a store that does not want the content.
private struct RemovingWriter: CacheWriter {
    let store: any CacheStore
    let key: CacheKey

    func write(_ chunk: Data) async throws {}
    func commit() async throws { try await store.remove(key) }
    func abandon() {}
}

/// Stands for the writer of a store that has none to give.
private struct FailedWriter: CacheWriter {
    let error: any Error

    func write(_ chunk: Data) async throws { throw error }
    func commit() async throws { throw error }
    func abandon() {}
}
