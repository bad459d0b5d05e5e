// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TurnpikeCore
import TurnpikeSupport

extension Cache {
    /// What the cache did, and how much its store holds.
    public var statistics: CacheStatistics { state.counts.statistics }

    /// Lists all entries, ordered by URL.
    public func list() async throws -> [CacheListing] {
        try await state.store.list().sorted { $0.response.key.url < $1.response.key.url }
    }

    /// Lists the entries of a URL: all variants, of all users.
    public func lookUp(_ url: URL) async throws -> [CacheListing] {
        guard let key = CacheKey(url) else { return [] }
        return try await state.store.list().filter {
            Grammar.areSame($0.response.key.url, key.url)
        }
    }

    /// Removes the entries of a URL: all variants, of all users.
    /// - Returns: How many entries were removed.
    @discardableResult
    public func purge(_ url: URL) async throws -> Int {
        guard let key = CacheKey(url) else { return 0 }
        state.recordings.spoil { Grammar.areSame($0.url, key.url) }
        defer { state.counts.tellUsage() }
        return try await state.store.removeAll { Grammar.areSame($0.key.url, key.url) }
    }

    /// Removes the entries for which a condition holds.
    ///
    /// Responses that are being read meanwhile are not stored: whether the condition would hold for
    /// them is not known yet.
    /// - Returns: How many entries were removed.
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
    var waiting: Int { state.revalidations.seatCount }
}
