// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
public import TurnpikeSupport

/// Keeps responses in memory, within a number of bytes.
///
/// A new entry is on probation, in a fifth of the space. The first hit moves the entry to the
/// protected segment. If that segment is full, its least recently used entries go back on
/// probation. So entries that are used once replace only each other (segmented LRU: Karedla, Love
/// and Wherry, 1994).
public final class MemoryStore: CacheStore {
    fileprivate let table: Mutex<MemoryTable>
    private let maxEntryBytes: Int

    /// Creates a store.
    /// - Parameters:
    ///   - maxBytes: The maximum number of bytes, including heads.
    ///   - maxEntryBytes: The most bytes of one entry's content; by default an eighth of
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

    /// Begins to store a response; nil if its content is too large for an entry.
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
            // An entry with the same key and variant keeps its rank, because an entry that is often
            // validated is often used.
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

    /// All entries.
    public func list() async throws -> [CacheListing] { table.withLock { $0.list } }

    /// How much the store contains.
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
                // Most small content is one chunk.
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
        // The old entry of this key and variant is out of date.
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

    /// Returns a body with these bytes.
    public func body(_ range: Range<Int64>) -> ResponseBody {
        if range.count64 == length { return ResponseBody(data) }
        let start = data.startIndex + Int(range.lowerBound)
        return ResponseBody(data[start..<(start + Int(range.count64))])
    }
}

extension Data {
    /// A copy of exactly these bytes, without a transport's buffer and without spare capacity.
    var exact: Data { unsafe withUnsafeBytes { unsafe Data($0) } }
}
