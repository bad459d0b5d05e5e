public import Foundation

/// Where a cache keeps responses.
///
/// A store knows nothing of HTTP: it finds what it was given, whole and unchanged, or not at all. It
/// is used by many calls at once and does not block their threads; it bounds itself. What it throws
/// costs a call no more than a miss.
///
/// ``MemoryStore``, ``DiskStore`` and ``TieredStore`` are ready ones.
public protocol CacheStore: Sendable {
    /// The entry under a key, of those for which a condition holds the one that came last.
    /// - Parameters:
    ///   - key: The key.
    ///   - isMatch: Whether an entry's variant fits.
    /// - Returns: The entry, or nil where there is none.
    /// - Throws: What keeps the store from looking.
    func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry?

    /// Begins to store a response; it is found once it is committed.
    ///
    /// It then takes the place of the entry with the same key and variant.
    /// - Parameters:
    ///   - response: The response.
    ///   - length: How many bytes of content will come, where it is known.
    /// - Returns: What takes the content, or nil where the store does not want it.
    /// - Throws: What keeps the store from taking it.
    func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)?

    /// Puts another head in the place of an entry's; it has no effect where the entry has gone, or
    /// was replaced.
    /// - Parameters:
    ///   - entry: The entry as it was found.
    ///   - response: The new head; its variant may differ.
    /// - Throws: What keeps the store from changing it.
    func update(_ entry: CacheEntry, to response: StoredResponse) async throws

    /// Removes all entries under a key.
    func remove(_ key: CacheKey) async throws

    /// Removes all entries for which a condition holds.
    /// - Returns: How many went.
    @discardableResult
    func removeAll(where condition: @escaping @Sendable (StoredResponse) -> Bool) async throws
        -> Int

    /// All entries, in no order, with the lengths of their contents.
    func list() async throws -> [CacheListing]

    /// How much it holds and how much it let go of.
    var usage: CacheUsage { get }

    /// Returns when all that was committed is as safe as it gets.
    func flush() async
}

/// Takes the content of one response, from one task.
public protocol CacheWriter: Sendable {
    /// Takes the next bytes.
    func write(_ chunk: Data) async throws

    /// Ends the content and makes the entry findable, at once and as a whole.
    func commit() async throws

    /// Gives the entry up, at most once, from any thread; nothing of it stays.
    func abandon()
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

/// How much a store holds.
public struct CacheUsage: Sendable, Hashable {
    /// The entries; those that the store knows of.
    public var entries: Int
    /// The bytes that they take, heads included.
    public var bytes: Int64
    /// How many entries went to make room.
    public var evictions: Int

    /// Creates a usage.
    public init(entries: Int = 0, bytes: Int64 = 0, evictions: Int = 0) {
        self.entries = entries
        self.bytes = bytes
        self.evictions = evictions
    }
}
