// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// A store of a cache's responses.
///
/// A store does not know the rules of HTTP. A store returns an entry complete and unchanged, or not
/// at all. Many calls use the store at once, and the store must not block their threads. A store
/// limits its own size. If a store throws an error, the cache counts a miss.
///
/// ``MemoryStore``, ``DiskStore`` and ``TieredStore`` are ready-made. A store that several machines
/// share returns true for ``isShared``, ends each operation within milliseconds, and may store
/// entries as ``EntryRecord``.
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

    /// Begins to store a response; the entry can be found after ``CacheWriter/commit()``.
    ///
    /// The commit replaces the entry with the same key and variant.
    /// - Parameters:
    ///   - response: The response.
    ///   - length: The number of bytes of content; nil if unknown.
    /// - Returns: A writer for the content, or nil if the store does not accept the response.
    /// - Throws: An error if the store fails.
    func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)?

    /// Replaces an entry's head. If the entry was removed or replaced, nothing changes.
    ///
    /// The content stays unchanged, so a remote store need not receive the content again.
    /// - Parameters:
    ///   - entry: The entry as this store, or a store in front of it, has returned it.
    ///   - response: The new head; its variant may differ.
    /// - Throws: An error if the store cannot change it.
    func update(_ entry: CacheEntry, to response: StoredResponse) async throws

    /// Removes all entries under a key.
    ///
    /// This process does not find the old entry any more, even if the store throws, because the
    /// store may have removed it. A shared store also refuses responses that other processes
    /// requested before the removal.
    func remove(_ key: CacheKey) async throws

    /// Removes all entries that fulfil a condition.
    ///
    /// The removal reads all entries, which may take long. No call waits for the removal.
    /// - Returns: The number of removed entries.
    @discardableResult
    func removeAll(where condition: @escaping @Sendable (StoredResponse) -> Bool) async throws
        -> Int

    /// Lists all entries, in no particular order. Calls never list entries.
    func list() async throws -> [CacheListing]

    /// The most memory and disk space for storing one response, without its head; nil if unknown.
    var entryBounds: CacheEntryBounds? { get }

    /// The size of the store, as far as known without asking a server (``CacheUsage/isComplete``).
    var usage: CacheUsage { get }

    /// Whether other processes change the store's entries.
    var isShared: Bool { get }

    /// The longest wait of a call while another call has the claim; nil if calls do not wait.
    var claimLimit: Duration? { get }

    /// Claims the fetch of a missing response, so that callers in other processes wait.
    ///
    /// The cache makes claims only if there is a ``claimLimit``. A claim ends by itself after
    /// ``claimLimit``.
    func claim(_ key: CacheKey) async throws -> CacheClaim

    /// Ends a claim.
    /// - Parameters:
    ///   - token: The token of the claim.
    ///   - key: The key.
    ///   - waitersGo: Whether waiting callers must fetch the response for themselves, because this
    ///     response is not for them.
    /// - Throws: An error if the store fails. The claim then ends after its time limit.
    func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws

    /// Returns when all committed entries will outlive the process, if the store can do that.
    func flush() async
}

extension CacheStore {
    /// Returns nil: the bounds are unknown.
    public var entryBounds: CacheEntryBounds? { nil }

    /// Returns false: only this process changes the entries, or no other store has copies.
    public var isShared: Bool { false }

    /// Returns nil: no call waits for another call.
    public var claimLimit: Duration? { nil }

    /// Every caller fetches the response itself.
    public func claim(_ key: CacheKey) async throws -> CacheClaim { .unneeded }

    /// Does nothing.
    public func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws {}
}

/// What a store answers to a call that wants to fetch a missing response.
public enum CacheClaim: Sendable, Hashable {
    /// The caller must fetch the response, and then release the claim with this token.
    case granted(token: String)
    /// Another caller fetches the response, for at most this time.
    case held(atMost: Duration)
    /// The caller fetches and does not wait, because the last response was not stored.
    case unneeded
}

/// A stored response and its content, which stays readable even after a removal.
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

    /// Returns a body that reads a part of the content while the body is read.
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

    /// Ends the content. From now on, look-ups find the complete entry.
    func commit() async throws

    /// Abandons the entry, from any thread. Nothing of the entry remains.
    func abandon()
}

/// How much a store contains.
public struct CacheUsage: Sendable, Hashable {
    /// The number of entries that the store knows of.
    public var entries: Int
    /// The bytes of the entries, including heads.
    public var bytes: Int64
    /// The number of entries that were removed to free space.
    public var evictions: Int
    /// Whether the numbers are complete; false for a remote store that was not asked.
    public var isComplete = true

    /// Creates a usage.
    public init(entries: Int = 0, bytes: Int64 = 0, evictions: Int = 0) {
        self.entries = entries
        self.bytes = bytes
        self.evictions = evictions
    }
}

/// The most memory and disk space for storing one response, for explanations of a stack.
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
