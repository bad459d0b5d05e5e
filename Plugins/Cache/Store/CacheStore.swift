// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// A store of a cache's responses.
///
/// A store does not apply HTTP rules. A store returns only complete and unchanged entries. Many
/// calls use the store at the same time, and the store must not block threads. A store limits its
/// own size. If a store throws an error, the cache counts a miss.
///
/// ``MemoryStore``, ``DiskStore`` and ``TieredStore`` implement this protocol. A store that several
/// machines share returns true for ``isShared``, ends each operation within milliseconds, and may
/// store entries as ``EntryRecord``.
public protocol CacheStore: Sendable {
    /// Finds the newest entry under a key that fulfils a condition.
    /// - Parameters:
    ///   - key: The key.
    ///   - isMatch: Whether an entry fits the request.
    /// - Returns: The entry, or nil if there is no entry.
    /// - Throws: An error if the store cannot be searched.
    func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry?

    /// Begins to store a response. ``CacheWriter/commit()`` makes the entry visible.
    ///
    /// The commit replaces the entry with the same key and variant.
    /// - Parameters:
    ///   - response: The response.
    ///   - length: The number of bytes of content, or nil if the number is unknown.
    /// - Returns: A writer for the content, or nil if the store does not accept the response.
    /// - Throws: An error if the store fails.
    func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)?

    /// Replaces an entry's head, unless the entry was removed or replaced.
    ///
    /// The content stays unchanged. A remote store does not receive the content again.
    /// - Parameters:
    ///   - entry: The entry, from this store or from a store in front of this store.
    ///   - response: The new head, which may have another variant.
    /// - Throws: An error if the store cannot change the entry.
    func update(_ entry: CacheEntry, to response: StoredResponse) async throws

    /// Removes all entries under a key.
    ///
    /// Even if the store throws, this process must not find the old entries any more. A shared
    /// store also refuses responses that other processes requested before the removal.
    func remove(_ key: CacheKey) async throws

    /// Removes all entries that fulfil a condition.
    ///
    /// The store reads all entries, which may take long. No HTTP call waits for the removal.
    /// - Returns: The number of removed entries.
    @discardableResult
    func removeAll(where condition: @escaping @Sendable (StoredResponse) -> Bool) async throws
        -> Int

    /// Lists all entries, in no particular order. HTTP calls do not use this method.
    func list() async throws -> [CacheListing]

    /// The maximum memory and disk space for the content of one response, or nil if unknown.
    var entryBounds: CacheEntryBounds? { get }

    /// The size of the store, as far as known without a request (``CacheUsage/isComplete``).
    var usage: CacheUsage { get }

    /// Whether other processes change the store's entries.
    var isShared: Bool { get }

    /// The longest wait of a call for another call's claim, or nil if calls do not wait.
    var claimLimit: Duration? { get }

    /// Claims the fetch of a missing response. During a claim, callers in other processes wait.
    ///
    /// The cache claims only if ``claimLimit`` is not nil. A claim ends at most ``claimLimit``
    /// later.
    func claim(_ key: CacheKey) async throws -> CacheClaim

    /// Ends a claim.
    /// - Parameters:
    ///   - token: The token of the claim.
    ///   - key: The key.
    ///   - waitersGo: Whether waiting callers must send their own requests, because this response
    ///     is not for other callers.
    /// - Throws: An error if the store fails. In this case, the claim ends after its time limit.
    func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws

    /// Waits until all committed entries are permanent, if the store has permanent storage.
    func flush() async
}

extension CacheStore {
    /// Returns nil, because the bounds are unknown.
    public var entryBounds: CacheEntryBounds? { nil }

    /// Returns false, because only this process changes the entries or no other store has copies.
    public var isShared: Bool { false }

    /// Returns nil, because no call waits for another call.
    public var claimLimit: Duration? { nil }

    /// Returns ``CacheClaim/unneeded``, because every caller sends its own request.
    public func claim(_ key: CacheKey) async throws -> CacheClaim { .unneeded }

    /// Does nothing.
    public func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws {}
}

/// The result of a claim for a missing response.
public enum CacheClaim: Sendable, Hashable {
    /// The caller must fetch the response, and afterwards release the claim with this token.
    case granted(token: String)
    /// Another caller fetches the response. Its claim ends after this time at the latest.
    case held(atMost: Duration)
    /// The caller fetches the response without a claim, because the last response was not stored.
    case unneeded
}

/// A stored response with its content.
///
/// The content stays readable after a removal of the entry.
public struct CacheEntry: Sendable {
    /// The response.
    public let response: StoredResponse
    /// The content of the response.
    public let content: any CachedContent

    /// Creates an entry.
    public init(response: StoredResponse, content: any CachedContent) {
        self.response = response
        self.content = content
    }
}

/// An entry of a list.
public struct CacheListing: Sendable {
    /// The response.
    public let response: StoredResponse
    /// The number of bytes of the response's content.
    public let length: Int64

    /// Creates an entry of a list.
    public init(response: StoredResponse, length: Int64) {
        self.response = response
        self.length = length
    }
}

/// The content of a stored response.
public protocol CachedContent: Sendable {
    /// The number of bytes.
    var length: Int64 { get }

    /// Returns a body that streams a part of the content.
    /// - Parameter range: The bytes, within 0..<``length``.
    /// - Returns: The body.
    func body(_ range: Range<Int64>) -> ResponseBody
}

/// Receives the content of one response.
///
/// Only one task at a time uses a writer.
public protocol CacheWriter: Sendable {
    /// Receives the next bytes.
    func write(_ chunk: Data) async throws

    /// Ends the content. After this call, look-ups find the complete entry.
    func commit() async throws

    /// Abandons the entry and removes its bytes. Any thread may call this method.
    func abandon()
}

/// The size of a store.
public struct CacheUsage: Sendable, Hashable {
    /// The number of known entries.
    public var entries: Int
    /// The bytes of the entries, including heads.
    public var bytes: Int64
    /// The number of entries that were removed to free space.
    public var evictions: Int
    /// Whether the numbers are complete.
    ///
    /// A remote store returns false if the size is unknown.
    public var isComplete = true

    /// Creates a usage.
    public init(entries: Int = 0, bytes: Int64 = 0, evictions: Int = 0) {
        self.entries = entries
        self.bytes = bytes
        self.evictions = evictions
    }
}

/// The maximum memory and disk space for one response, for explanations of a stack.
public struct CacheEntryBounds: Sendable, Hashable {
    /// The bytes in memory.
    public var memory: Int64
    /// The bytes on disk.
    public var disk: Int64

    /// Creates bounds.
    public init(memory: Int64 = 0, disk: Int64 = 0) {
        self.memory = memory
        self.disk = disk
    }
}
