// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// A small, fast store in front of a large store.
///
/// Both stores receive each response. An entry of the back is copied to the front if the content of
/// the entry is in memory. If the back fails, the error is thrown, and the front still works.
///
/// The front does not notice changes that other processes make in the back
/// (``CacheStore/isShared``). The front therefore returns an entry for at most `frontLifetime`
/// after the back has confirmed the entry. During this time, this process may use an entry that
/// another process has replaced or removed.
public final class TieredStore: CacheStore {
    private let front: any CacheStore
    private let back: any CacheStore
    // The number of removals and replacements. If the number changes after a look-up in the back,
    // the entry is not copied to the front.
    private let changes = Atomic<UInt64>(0)
    // The keys whose front entries are valid, or nil if only this process changes the back.
    private let confirmed: ConfirmedKeys?

    /// Creates a store from two stores.
    /// - Parameters:
    ///   - front: The small store.
    ///   - back: The large store.
    ///   - frontLifetime: The time in which the front returns an entry without a look-up in the
    ///     back. With zero, each look-up uses the back. The default is one second for a shared
    ///     back, and no limit for any other back.
    ///   - timeSource: The clock for `frontLifetime`.
    public init(
        _ front: any CacheStore, _ back: any CacheStore, frontLifetime: Duration? = nil,
        timeSource: any TimeSource = SystemTimeSource()
    ) {
        self.front = front
        self.back = back
        confirmed = (frontLifetime ?? (back.isShared ? .seconds(1) : nil)).map {
            ConfirmedKeys(lifetime: $0, timeSource: timeSource)
        }
    }

    /// Whether other processes change the entries of the back.
    public var isShared: Bool { back.isShared }

    /// The time limit for claims in the back.
    public var claimLimit: Duration? { back.claimLimit }

    /// Claims the fetch of a missing response in the back.
    public func claim(_ key: CacheKey) async throws -> CacheClaim { try await back.claim(key) }

    /// Ends a claim in the back.
    public func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws {
        try await back.release(token, of: key, waitersGo: waitersGo)
    }

    /// The memory and disk space of both stores together.
    public var entryBounds: CacheEntryBounds? {
        guard let first = front.entryBounds, let second = back.entryBounds else { return nil }
        return CacheEntryBounds(
            memory: first.memory + second.memory, disk: first.disk + second.disk)
    }

    /// Finds an entry in the front, or in the back if the front has no entry.
    public func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry? {
        let isConfirmed = confirmed?.contains(key) ?? true
        if isConfirmed, let entry = try await front.entry(for: key, where: isMatch) {
            return entry
        }
        let before = changes.load(ordering: .sequentiallyConsistent)
        let found = try await back.entry(for: key, where: isMatch)
        // Other variants in the front may also be out of date.
        if !isConfirmed { try await front.remove(key) }
        guard let entry = found else { return nil }
        if let data = (entry.content as? CachedData)?.data,
            isUnchanged(since: before),
            let writer = try await front.writer(for: entry.response, length: Int64(data.count))
        {
            try await writer.write(data)
            try await writer.commit()
            if isUnchanged(since: before) {
                if !isConfirmed { confirmed?.insert(key) }
            } else {
                try await front.remove(key)
            }
        }
        return entry
    }

    private func isUnchanged(since count: UInt64) -> Bool {
        changes.load(ordering: .sequentiallyConsistent) == count
    }

    // Changes the back before the front. If a concurrent look-up has read the old entry from the
    // back, the look-up copies the entry before the front changes, or notices the change.
    fileprivate func change<Value: Sendable>(
        back: @Sendable () async throws -> Value, front: @Sendable () async throws -> Value
    ) async throws -> (Value, Value) {
        let second: Result<Value, any Error>
        do { second = .success(try await back()) } catch { second = .failure(error) }
        changes.wrappingAdd(1, ordering: .sequentiallyConsistent)
        let first = try await front()
        return (first, try second.get())
    }

    // Removes unconfirmed entries of the key from the front, before a new entry is added.
    fileprivate func frontChanges(_ key: CacheKey) async throws {
        guard let confirmed, !confirmed.contains(key) else { return }
        try await front.remove(key)
        confirmed.insert(key)
    }

    /// Begins to store a response in both stores, or returns nil if neither accepts the response.
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

    /// Replaces an entry's head in both stores.
    public func update(_ entry: CacheEntry, to response: StoredResponse) async throws {
        _ = try await change {
            try await back.update(entry, to: response)
        } front: {
            try await front.update(entry, to: response)
        }
    }

    /// Removes all entries under a key from both stores.
    public func remove(_ key: CacheKey) async throws {
        _ = try await change {
            try await back.remove(key)
        } front: {
            try await front.remove(key)
        }
    }

    /// Removes all entries that fulfil a condition from both stores.
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

    /// The number and the bytes of the entries in both stores.
    ///
    /// An entry in both stores counts once, but its bytes count twice.
    public var usage: CacheUsage {
        let (first, second) = (front.usage, back.usage)
        var usage = CacheUsage(
            entries: max(first.entries, second.entries), bytes: first.bytes + second.bytes,
            evictions: first.evictions + second.evictions)
        usage.isComplete = first.isComplete && second.isComplete
        return usage
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
    // A writer is nil if the store does not accept the content. In this case, the old entry must be
    // removed from this store.
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
            try await store.frontChanges(key)
            if let first { try await first.commit() } else { try await front.remove(key) }
        }
    }

    func abandon() {
        first?.abandon()
        if case .success(let writer) = second.withLock({ $0 }) { writer?.abandon() }
    }
}

private final class ConfirmedKeys: Sendable {
    private struct State {
        // The confirmations of the current and of the previous period. Older confirmations are
        // dropped without a search.
        var recent: [CacheKey: MonotonicInstant] = [:]
        var older: [CacheKey: MonotonicInstant] = [:]
        var turnedAt: MonotonicInstant
    }

    private let lifetime: Duration
    private let timeSource: any TimeSource
    private let state: Mutex<State>

    init(lifetime: Duration, timeSource: any TimeSource) {
        self.lifetime = lifetime
        self.timeSource = timeSource
        state = Mutex(State(turnedAt: timeSource.now))
    }

    func contains(_ key: CacheKey) -> Bool {
        let now = timeSource.now
        return state.withLock { state in
            guard let then = state.recent[key] ?? state.older[key] else { return false }
            return then.duration(to: now) < lifetime
        }
    }

    func insert(_ key: CacheKey) {
        let now = timeSource.now
        state.withLock { state in
            // If a key is dropped early, the store makes only one more look-up in the back.
            if state.recent.count >= 4096 || state.turnedAt.duration(to: now) >= lifetime {
                state.older = state.recent
                state.recent = [:]
                state.turnedAt = now
            }
            state.recent[key] = now
        }
    }
}
