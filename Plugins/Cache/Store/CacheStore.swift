// SPDX-License-Identifier: Apache-2.0

/// Where a cache keeps responses.
///
/// A store knows nothing of HTTP. It finds what it was given, whole and unchanged, or does not find it.
/// Many calls use it at once, and it must not block their threads. It bounds its own size. An error that
/// it throws is a miss to a call.
///
/// ``MemoryStore``, ``DiskStore`` and ``TieredStore`` are ready ones.
public protocol CacheStore: Sendable {
    /// Finds the newest entry under a key for which a condition holds.
    /// - Parameters:
    ///   - key: The key.
    ///   - isMatch: Whether an entry fits the request.
    /// - Returns: The entry, or nil if there is none.
    /// - Throws: What keeps the store from looking.
    func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry?

    /// Begins to store a response, which can be found once it is committed.
    ///
    /// It replaces the entry with the same key and variant then.
    /// - Parameters:
    ///   - response: The response.
    ///   - length: How many bytes of content will come; nil if that is not known.
    /// - Returns: A writer for the content, or nil if the store does not want it.
    /// - Throws: What keeps the store from taking it.
    func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)?

    /// Replaces an entry's head; it has no effect if the entry was removed or replaced.
    /// - Parameters:
    ///   - entry: The entry as it was found.
    ///   - response: The new head; its variant may differ.
    /// - Throws: What keeps the store from changing it.
    func update(_ entry: CacheEntry, to response: StoredResponse) async throws

    /// Removes all entries under a key.
    func remove(_ key: CacheKey) async throws

    /// Removes all entries for which a condition holds.
    /// - Returns: How many were removed.
    @discardableResult
    func removeAll(where condition: @escaping @Sendable (StoredResponse) -> Bool) async throws
        -> Int

    /// Lists all entries, in no particular order.
    func list() async throws -> [CacheListing]

    /// The most bytes that storing one response takes, its head not counted; nil if nobody knows.
    var entryBounds: CacheEntryBounds? { get }

    /// How much the store holds.
    var usage: CacheUsage { get }

    /// Returns when all committed entries are where they outlive the process, as far as the store can.
    func flush() async
}

extension CacheStore {
    /// Nil: nobody knows.
    public var entryBounds: CacheEntryBounds? { nil }
}
