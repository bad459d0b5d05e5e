public import Foundation
import TurnpikeCore

extension Cache {
    /// What it did, and what its store holds.
    public var statistics: CacheStatistics { state.counts.statistics }

    /// All that is stored, in the order of URLs.
    public func list() async throws -> [CacheListing] {
        try await state.store.list().sorted { $0.response.key.url < $1.response.key.url }
    }

    /// What is stored for a URL: all variants, whosoever they are.
    public func lookUp(_ url: URL) async throws -> [CacheListing] {
        guard let key = CacheKey(url) else { return [] }
        return try await state.store.list().filter {
            Grammar.areSame($0.response.key.url, key.url)
        }
    }

    /// Forgets what is stored for a URL: all variants, whosoever they are.
    /// - Returns: How many entries went.
    @discardableResult
    public func purge(_ url: URL) async throws -> Int {
        guard let key = CacheKey(url) else { return 0 }
        state.recordings.spoil { Grammar.areSame($0.url, key.url) }
        defer { state.counts.tellUsage() }
        return try await state.store.removeAll { Grammar.areSame($0.key.url, key.url) }
    }

    /// Forgets what a condition holds for.
    ///
    /// Nothing is stored of the responses that are being read meanwhile: what the condition would
    /// say of them is not known yet.
    /// - Returns: How many entries went.
    @discardableResult
    public func purge(
        where condition: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> Int {
        state.recordings.spoil { _ in true }
        defer { state.counts.tellUsage() }
        return try await state.store.removeAll(where: condition)
    }
}

extension Cache {
    /// How many calls wait for a validation, refreshes in the background included.
    package var waiting: Int { state.revalidations.seatCount }
}
