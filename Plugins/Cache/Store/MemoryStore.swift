// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
public import TurnpikeSupport

/// Keeps responses in memory, up to a number of bytes.
///
/// A new entry is in the probation segment, a fifth of the space. The first hit moves the entry to
/// the protected segment. If the protected segment is full, the least recently used entries move
/// back to probation. Entries without a hit therefore replace only each other. The algorithm is
/// segmented LRU (Karedla, Love and Wherry, 1994).
public final class MemoryStore: CacheStore {
    fileprivate let table: Mutex<MemoryTable>
    private let maxEntryBytes: Int

    /// Creates a store.
    /// - Parameters:
    ///   - maxBytes: The maximum number of bytes, including heads.
    ///   - maxEntryBytes: The maximum number of content bytes of one entry, by default an eighth of
    ///     `maxBytes`.
    public init(maxBytes: Int = 16 << 20, maxEntryBytes: Int? = nil) {
        let maxBytes = max(maxBytes, 0)
        self.maxEntryBytes = min(max(maxEntryBytes ?? maxBytes / 8, 0), maxBytes)
        table = Mutex(MemoryTable(maxBytes: maxBytes))
    }

    /// The maximum number of bytes of an entry.
    public var entryBounds: CacheEntryBounds? { CacheEntryBounds(memory: Int64(maxEntryBytes)) }

    /// Finds an entry.
    public func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry? {
        table.withLock { $0.entry(for: key, where: isMatch) }
    }

    /// Begins to store a response, or returns nil if the content is too large for an entry.
    public func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)? {
        if maxEntryBytes == 0 || length ?? 0 > maxEntryBytes { return nil }
        return MemoryWriter(store: self, response: response, maxBytes: maxEntryBytes)
    }

    /// Replaces an entry's head.
    public func update(_ entry: CacheEntry, to response: StoredResponse) async throws {
        table.withLock { table in
            guard table.contains(entry.response) else { return }
            let content = (entry.content as? CachedData)?.data
            // If key and variant stay the same, the entry keeps its rank, because a frequently
            // validated entry is frequently used.
            let isInPlace =
                response.key == entry.response.key && response.variant == entry.response.variant
            if content == nil || !isInPlace { table.remove(entry.response) }
            if let content { table.insert(response, content) }
        }
    }

    /// Removes all entries under a key.
    public func remove(_ key: CacheKey) async throws {
        table.withLock { $0.remove(key) }
    }

    /// Removes all entries that fulfil a condition.
    @discardableResult
    public func removeAll(
        where condition: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> Int {
        table.withLock { $0.removeAll(where: condition) }
    }

    /// Lists all entries.
    public func list() async throws -> [CacheListing] { table.withLock { $0.list } }

    /// The size of the store.
    public var usage: CacheUsage { table.withLock { $0.usage } }

    /// Does nothing, because memory does not outlive the process.
    public func flush() async {}
}

private final class MemoryWriter: CacheWriter {
    private let store: MemoryStore
    private let response: StoredResponse
    private let maxBytes: Int
    private let content = Mutex<Data?>(Data())

    init(store: MemoryStore, response: StoredResponse, maxBytes: Int) {
        self.store = store
        self.response = response
        self.maxBytes = maxBytes
    }

    func write(_ chunk: Data) async throws {
        content.withLock { content in
            guard let count = content?.count else { return }
            if count + chunk.count > maxBytes {
                content = nil
            } else if count == 0 {
                content = chunk
            } else {
                content?.append(chunk)
            }
        }
    }

    func commit() async throws {
        let data = content.withLock { content in
            defer { content = nil }
            return content
        }
        // The content is too large, and the old entry of this variant is out of date.
        guard let data else { return store.table.withLock { $0.remove(response) } }
        store.table.withLock { $0.insert(response, data.exact) }
    }

    func abandon() { content.withLock { $0 = nil } }
}

/// Content in memory.
public struct CachedData: CachedContent {
    /// The bytes.
    public let data: Data

    /// Creates content.
    public init(_ data: Data) { self.data = data }

    /// The number of bytes.
    public var length: Int64 { Int64(data.count) }

    /// Returns a body with the bytes in a range.
    public func body(_ range: Range<Int64>) -> ResponseBody {
        if range.count64 == length { return ResponseBody(data) }
        let start = data.startIndex + Int(range.lowerBound)
        return ResponseBody(data[start..<(start + Int(range.count64))])
    }
}

extension Data {
    /// A copy without a transport's buffer and without spare capacity.
    var exact: Data { unsafe withUnsafeBytes { unsafe Data($0) } }
}
