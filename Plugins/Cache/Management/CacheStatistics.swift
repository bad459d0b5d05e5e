import Synchronization
import TurnpikeMiddleware

/// What a cache did since it was made.
public struct CacheStatistics: Sendable, Hashable {
    /// Calls answered by a fresh entry.
    public internal(set) var hits = 0
    /// Calls answered by a stale entry, as the request, the response or an error allowed.
    public internal(set) var staleHits = 0
    /// Calls answered by an entry that its origin has confirmed with a 304.
    public internal(set) var validated = 0
    /// Calls for which nothing that fits was stored.
    public internal(set) var misses = 0
    /// Calls that were sent although something was stored: it was stale, and has changed, or the
    /// request did not take it.
    public internal(set) var renewed = 0
    /// Calls that went by the store.
    public internal(set) var bypassed = 0
    /// Responses that were stored.
    public internal(set) var stored = 0
    /// Faults of the store.
    public internal(set) var failures = 0
    /// What the store holds.
    public internal(set) var usage = CacheUsage()
}

/// The counters of a cache.
final class CacheCounts: Sendable {
    private let state = Mutex(CacheStatistics())
    private let meter: (any GateMeter)?

    init(meter: (any GateMeter)?) { self.meter = meter }

    var statistics: CacheStatistics { state.withLock { $0 } }

    func add(_ outcome: CacheOutcome) {
        state.withLock { counts in
            switch outcome {
            case .hit: counts.hits += 1
            case .staleHit: counts.staleHits += 1
            case .validated: counts.validated += 1
            case .miss: counts.misses += 1
            case .stale, .refused: counts.renewed += 1
            case .bypass, .method: counts.bypassed += 1
            }
        }
        meter?.add(1, to: "turnpike.cache.requests", labels: ["result": outcome.rawValue])
    }

    func addFailure() {
        state.withLock { $0.failures += 1 }
        meter?.add(1, to: "turnpike.cache.failures", labels: [:])
    }

    func stored(_ store: any CacheStore) {
        state.withLock { $0.stored += 1 }
        guard let meter else { return }
        let usage = store.usage
        meter.add(1, to: "turnpike.cache.stored", labels: [:])
        meter.set("turnpike.cache.entries", to: Double(usage.entries), labels: [:])
        meter.set("turnpike.cache.bytes", to: Double(usage.bytes), labels: [:])
        meter.set("turnpike.cache.evictions", to: Double(usage.evictions), labels: [:])
    }
}
