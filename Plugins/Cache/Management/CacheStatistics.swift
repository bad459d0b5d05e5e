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
    private struct State {
        var statistics = CacheStatistics()
        var meter: (any GateMeter)?
        var toldEvictions: Int
    }

    private let store: any CacheStore
    private let state: Mutex<State>

    init(_ store: any CacheStore, meter: (any GateMeter)?) {
        self.store = store
        state = Mutex(State(meter: meter, toldEvictions: store.usage.evictions))
    }

    var statistics: CacheStatistics {
        var statistics = state.withLock { $0.statistics }
        statistics.usage = store.usage
        return statistics
    }

    /// Tells another meter from now on, or none.
    func tell(_ meter: (any GateMeter)?) { state.withLock { $0.meter = meter } }

    func add(_ outcome: CacheOutcome) {
        let meter = state.withLock { state in
            switch outcome {
            case .hit: state.statistics.hits += 1
            case .staleHit: state.statistics.staleHits += 1
            case .validated: state.statistics.validated += 1
            case .miss: state.statistics.misses += 1
            case .stale, .refused: state.statistics.renewed += 1
            case .bypass, .method: state.statistics.bypassed += 1
            }
            return state.meter
        }
        meter?.add(1, to: "turnpike.cache.requests", labels: ["result": outcome.rawValue])
    }

    func addFailure() {
        let meter = state.withLock { state in
            state.statistics.failures += 1
            return state.meter
        }
        meter?.add(1, to: "turnpike.cache.failures", labels: [:])
    }

    func addStored() {
        let meter = state.withLock { state in
            state.statistics.stored += 1
            return state.meter
        }
        meter?.add(1, to: "turnpike.cache.stored", labels: [:])
        tellUsage()
    }

    /// Tells how much the store holds, which changes.
    func tellUsage() {
        guard state.withLock({ $0.meter != nil }) else { return }
        // One after the other, so that what is told last is true.
        state.withLock { state in
            guard let meter = state.meter else { return }
            let usage = store.usage
            meter.set("turnpike.cache.entries", to: Double(usage.entries), labels: [:])
            meter.set("turnpike.cache.bytes", to: Double(usage.bytes), labels: [:])
            let evictions = usage.evictions - state.toldEvictions
            state.toldEvictions = usage.evictions
            if evictions > 0 {
                meter.add(Double(evictions), to: "turnpike.cache.evictions", labels: [:])
            }
        }
    }

    /// Tells what is true at the end, and returns when the meter has passed it on.
    func flush() async {
        tellUsage()
        await state.withLock { $0.meter }?.flush()
    }
}
