// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
public import TurnpikeSupport

extension Cache {
    /// The counts of the cache, and the size of its store.
    public var statistics: CacheStatistics { state.counts.statistics }

    /// Lists all entries, ordered by URL.
    public func list() async throws -> [CacheListing] {
        try await state.store.list().sorted { $0.response.key.url < $1.response.key.url }
    }

    /// Lists the entries of a URL, including all variants of all users.
    public func lookUp(_ url: URL) async throws -> [CacheListing] {
        guard let key = CacheKey(url) else { return [] }
        return try await state.store.list().filter {
            Grammar.areSame($0.response.key.url, key.url)
        }
    }

    /// Removes the entries of a URL, including all variants of all users.
    /// - Returns: The number of removed entries.
    @discardableResult
    public func purge(_ url: URL) async throws -> Int {
        guard let key = CacheKey(url) else { return 0 }
        state.recordings.spoil { Grammar.areSame($0.url, key.url) }
        defer { state.counts.tellUsage() }
        return try await state.store.removeAll { Grammar.areSame($0.key.url, key.url) }
    }

    /// Removes the entries that fulfil a condition.
    ///
    /// Responses that callers are still reading are not stored, because these responses may fulfil
    /// the condition.
    /// - Returns: The number of removed entries.
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
    /// The number of calls that wait for a validation, including background refreshes.
    var waiting: Int { state.revalidations.seatCount }
}

/// The counts of a cache since its creation.
public struct CacheStatistics: Sendable, Hashable {
    /// The number of calls that a fresh entry answered.
    public internal(set) var hits = 0
    /// The number of calls that a stale entry answered.
    public internal(set) var staleHits = 0
    /// The number of calls that an entry answered after a 304 of the origin.
    public internal(set) var validated = 0
    /// The number of calls without a matching entry.
    public internal(set) var misses = 0
    /// The number of calls that got a new response although an entry matched.
    ///
    /// The entry was stale and had changed, or the request did not accept the entry.
    public internal(set) var renewed = 0
    /// The number of calls that did not use the store.
    public internal(set) var bypassed = 0
    /// The number of responses that the cache stored.
    public internal(set) var stored = 0
    /// The number of store operations that threw an error.
    public internal(set) var failures = 0
    /// The size of the store.
    public internal(set) var usage = CacheUsage()
}

final class CacheCounts: Sendable {
    private struct State {
        var statistics = CacheStatistics()
        var toldEvictions: Int
    }

    private let store: any CacheStore
    private let state: Mutex<State>
    let figures: GateFigures

    private static let help = [
        "turnpike.cache.requests":
            "Requests that passed a cache, by outcome (label result).",
        "turnpike.cache.stored": "Responses that a cache stored.",
        "turnpike.cache.failures":
            "Faults of a cache's store: failed writes and damaged entries.",
        "turnpike.cache.evictions": "Stored responses that a cache removed to free space.",
        "turnpike.cache.entries": "Responses in the stores of caches.",
        "turnpike.cache.bytes": "Size of the responses in the stores of caches, in bytes.",
    ]

    init(_ store: any CacheStore, meter: (any GateMeter)?) {
        self.store = store
        state = Mutex(State(toldEvictions: store.usage.evictions))
        figures = GateFigures(
            meter, help: Self.help,
            counters: [
                .counter("turnpike.cache.stored"), .counter("turnpike.cache.failures"),
                .counter("turnpike.cache.evictions"),
            ])
    }

    var statistics: CacheStatistics {
        var statistics = state.withLock { $0.statistics }
        statistics.usage = store.usage
        return statistics
    }

    func add(_ outcome: CacheOutcome) {
        state.withLock { state in
            switch outcome {
            case .hit: state.statistics.hits += 1
            case .staleHit: state.statistics.staleHits += 1
            case .validated: state.statistics.validated += 1
            case .miss, .variantMiss: state.statistics.misses += 1
            case .stale, .refused: state.statistics.renewed += 1
            case .bypass, .method: state.statistics.bypassed += 1
            }
        }
        figures.add(1, to: "turnpike.cache.requests", labels: ["result": outcome.rawValue])
    }

    func addFailure() {
        state.withLock { $0.statistics.failures += 1 }
        figures.add(1, to: "turnpike.cache.failures")
    }

    func addStored() {
        state.withLock { $0.statistics.stored += 1 }
        figures.add(1, to: "turnpike.cache.stored")
        tellUsage()
    }

    func tellUsage() {
        figures.tell {
            let usage = store.usage
            guard usage.isComplete else { return [:] }
            return [
                .gauge("turnpike.cache.entries"): Double(usage.entries),
                .gauge("turnpike.cache.bytes"): Double(usage.bytes),
            ]
        }
        let evictions = state.withLock { state in
            let all = store.usage.evictions
            defer { state.toldEvictions = all }
            return all - state.toldEvictions
        }
        if evictions > 0 { figures.add(Double(evictions), to: "turnpike.cache.evictions") }
    }

    /// Uses another meter from now on, and reports the size of the store to that meter.
    func move(to meter: (any GateMeter)?) {
        figures.move(to: meter)
        tellUsage()
    }

    func flush() async {
        tellUsage()
        await figures.flush()
    }
}
