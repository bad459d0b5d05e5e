// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// A store of a cache's responses.
///
/// A store has no rules of HTTP. It returns an entry complete and unchanged, or not at all. Many
/// calls use it at once, and it must not block their threads. It bounds its own size. An error that
/// it throws is a miss to a call.
///
/// ``MemoryStore``, ``DiskStore`` and ``TieredStore`` are ready ones. A store that several machines share
/// says so (``isShared``), ends each operation within milliseconds, and may keep an entry as an
/// ``EntryRecord``.
public protocol CacheStore: Sendable {
    /// Finds the newest entry under a key for which a condition holds.
    /// - Parameters:
    ///   - key: The key.
    ///   - isMatch: Whether an entry fits the request.
    /// - Returns: The entry, or nil if there is none.
    /// - Throws: An error if the store cannot be searched.
    func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry?

    /// Begins to store a response, which can be found once it is committed.
    ///
    /// It replaces the entry with the same key and variant then.
    /// - Parameters:
    ///   - response: The response.
    ///   - length: The number of bytes of content; nil if it is not known.
    /// - Returns: A writer for the content, or nil if the store does not want it.
    /// - Throws: An error if the store cannot accept it.
    func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)?

    /// Replaces an entry's head; it has no effect if the entry was removed or replaced.
    ///
    /// The content stays, and a store elsewhere need not be sent it again.
    /// - Parameters:
    ///   - entry: The entry as it was found, in this store or in one in front of it.
    ///   - response: The new head; its variant may differ.
    /// - Throws: An error if the store cannot change it.
    func update(_ entry: CacheEntry, to response: StoredResponse) async throws

    /// Removes all entries under a key.
    ///
    /// The old entry is not found any more in this process, even if the store throws, because then
    /// it is not known whether it was removed. A shared store also refuses responses that other
    /// processes had asked for before.
    func remove(_ key: CacheKey) async throws

    /// Removes all entries for which a condition holds.
    ///
    /// It reads all entries, which may take long; no call waits for it.
    /// - Returns: How many were removed.
    @discardableResult
    func removeAll(where condition: @escaping @Sendable (StoredResponse) -> Bool) async throws
        -> Int

    /// Lists all entries, in no particular order; no call waits for it.
    func list() async throws -> [CacheListing]

    /// The most bytes that storing one response takes, without its head; nil if it is not known.
    var entryBounds: CacheEntryBounds? { get }

    /// How much the store holds, as far as it knows without asking (``CacheUsage/isComplete``).
    var usage: CacheUsage { get }

    /// Whether other processes change its entries.
    var isShared: Bool { get }

    /// The longest time for which a call waits for the request of a call with a claim; nil if calls
    /// do not wait.
    var claimLimit: Duration? { get }

    /// Claims the fetch of a missing response, so that callers in other processes wait for it.
    ///
    /// It is used only if there is a ``claimLimit``, after which a claim ends by itself.
    func claim(_ key: CacheKey) async throws -> CacheClaim

    /// Ends a claim.
    /// - Parameters:
    ///   - token: The token of the claim.
    ///   - key: The key.
    ///   - waitersGo: Whether waiting callers should fetch by themselves, because the response is
    ///     not for them.
    /// - Throws: An error if the store cannot do it; the claim then ends with its time.
    func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws

    /// Returns when all committed entries are where they outlive the process, as far as the store can.
    func flush() async
}

extension CacheStore {
    /// Nil: nobody knows.
    public var entryBounds: CacheEntryBounds? { nil }

    /// False: only this process changes the entries, or no copy of an old entry is kept elsewhere.
    public var isShared: Bool { false }

    /// Nil: no call waits for another one.
    public var claimLimit: Duration? { nil }

    /// Every caller fetches the response itself.
    public func claim(_ key: CacheKey) async throws -> CacheClaim { .unneeded }

    /// Does nothing.
    public func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws {}
}

/// The answer of a store to a call that wants to fetch a missing response.
public enum CacheClaim: Sendable, Hashable {
    /// The caller must fetch it, and then release the claim with this token.
    case granted(token: String)
    /// Another caller fetches it, for at most this time.
    case held(atMost: Duration)
    /// The caller fetches it and does not wait, because the response to the last request was not
    /// stored.
    case unneeded
}

/// A stored response and its content, which can be read even if the store removes the entry meanwhile.
public struct CacheEntry: Sendable {
    /// The response.
    public let response: StoredResponse
    /// Its content.
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
    /// The bytes of its content.
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

    /// A body that reads a part of it, as it is pulled.
    /// - Parameter range: Which bytes, within 0..<``length``.
    /// - Returns: The body.
    func body(_ range: Range<Int64>) -> ResponseBody
}

/// Takes the content of one response; one task uses it at a time.
public protocol CacheWriter: Sendable {
    /// Takes the next bytes.
    func write(_ chunk: Data) async throws

    /// Ends the content; from then on the entry can be found, as a whole.
    func commit() async throws

    /// Abandons the entry, from any thread; nothing of it is kept.
    func abandon()
}

/// How much a store holds.
public struct CacheUsage: Sendable, Hashable {
    /// The number of entries that the store knows of.
    public var entries: Int
    /// The bytes that the entries take, heads included.
    public var bytes: Int64
    /// How many entries were removed to make room.
    public var evictions: Int
    /// Whether this is all; false for a store elsewhere, which would have to be asked.
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
