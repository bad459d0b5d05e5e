// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A small, fast store in front of a large one.
///
/// A response is stored in both. An entry that is found in the back is put in front too, if its content
/// was read into memory. If the back fails, its error is thrown and the front goes on.
public final class TieredStore: CacheStore {
    private let front: any CacheStore
    private let back: any CacheStore
    // How often an entry was removed or replaced. What a look-up has found before is not put in front.
    private let changes = Atomic<UInt64>(0)

    /// Creates a store of two.
    public init(_ front: any CacheStore, _ back: any CacheStore) {
        self.front = front
        self.back = back
    }

    /// What both take together.
    public var entryBounds: CacheEntryBounds? {
        guard let first = front.entryBounds, let second = back.entryBounds else { return nil }
        return CacheEntryBounds(
            memory: first.memory + second.memory, disk: first.disk + second.disk)
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

    // Changes the back before the front. A look-up that has found an entry in the back before has put it
    // in front by the time that the front changes, or sees that there was a change.
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
        let second: Result<(any CacheWriter)?, any Error>
        do {
            second = .success(try await back.writer(for: response, length: length))
        } catch {
            second = .failure(error)
        }
        if first == nil, try second.get() == nil { return nil }
        return TieredWriter(self, front, back, response.key, first, second)
    }

    /// Replaces an entry's head, in both.
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

    /// Lists all entries, each once.
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

    /// Returns when both stores have flushed.
    public func flush() async {
        await front.flush()
        await back.flush()
    }
}

private final class TieredWriter: CacheWriter {
    private let store: TieredStore
    private let front: any CacheStore
    private let back: any CacheStore
    private let key: CacheKey
    // nil where a store does not want the content: what it has must not be found any more.
    private let first: (any CacheWriter)?
    private let second: Mutex<Result<(any CacheWriter)?, any Error>>

    init(
        _ store: TieredStore, _ front: any CacheStore, _ back: any CacheStore, _ key: CacheKey,
        _ first: (any CacheWriter)?, _ second: Result<(any CacheWriter)?, any Error>
    ) {
        self.store = store
        self.front = front
        self.back = back
        self.key = key
        self.first = first
        self.second = Mutex(second)
    }

    func write(_ chunk: Data) async throws {
        try await first?.write(chunk)
        guard case .success(let writer?) = second.withLock({ $0 }) else { return }
        do {
            try await writer.write(chunk)
        } catch {
            writer.abandon()
            second.withLock { $0 = .failure(error) }
        }
    }

    func commit() async throws {
        _ = try await store.change {
            switch second.withLock({ $0 }) {
            case .success(let writer?): try await writer.commit()
            case .success(nil): try await back.remove(key)
            case .failure(let error):
                try? await back.remove(key)
                throw error
            }
        } front: {
            if let first { try await first.commit() } else { try await front.remove(key) }
        }
    }

    func abandon() {
        first?.abandon()
        if case .success(let writer) = second.withLock({ $0 }) { writer?.abandon() }
    }
}
