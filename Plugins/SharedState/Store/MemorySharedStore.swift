// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport
public import TurnpikeTraffic

/// Keeps shared state in memory, for tests and for gates of one process.
///
/// ```swift
/// let store = MemorySharedStore(timeSource: simulation.clock)
/// let replicas = (0..<12).map { _ in SharedState(store, timeLimit: .milliseconds(20)) }
/// ```
///
/// The store has its own clock, as a server does. The clocks of the replicas may differ from this
/// clock. Expired values are removed. The memory therefore grows only with the used keys.
public final class MemorySharedStore: SharedStore {
    private struct State {
        var quotas = ExpiringTable<QuotaState>()
        var cooldowns = ExpiringTable<Void>()
        var tokens = ExpiringTable<StoredToken>()
        var locks = ExpiringTable<UInt64>()
        // The group of each replica.
        var replicas = ExpiringTable<String>()
        // One counter for the locks of all keys, because a counter for each key would need memory.
        var fence: UInt64 = 0
    }

    /// Whether the traffic to the store is confidential.
    public let hidesTraffic: Bool?
    private let timeSource: any TimeSource
    private let start: MonotonicInstant
    private let state = Mutex(State())

    /// Creates an empty store.
    /// - Parameters:
    ///   - timeSource: The clock of the store.
    ///   - hidesTraffic: The value of ``hidesTraffic``: true, because nothing leaves the process,
    ///     unless the store stands for another one while a stack file is only checked.
    public init(timeSource: any TimeSource = SystemTimeSource(), hidesTraffic: Bool? = true) {
        self.timeSource = timeSource
        self.hidesTraffic = hidesTraffic
        start = timeSource.now
    }

    // MARK: Quotas

    /// Takes permits of a quota, or takes no permits.
    public func take(_ request: QuotaRequest) async -> QuotaAnswer {
        update { state, now in
            if let (_, end) = state.cooldowns.value(request.key, at: now) {
                return .coolingDown(Self.duration(end - now))
            }
            return Self.change(request.key, in: &state, at: now) { $0.take(request, at: now) }
        }
    }

    /// Returns permits, or charges permits if the number is negative.
    public func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async {
        update { state, now in
            Self.change(key, in: &state, at: now) { $0.giveBack(permits, rules: rules, at: now) }
        }
    }

    /// Lowers the remaining permits of one rule.
    public func lower(
        to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]
    ) async {
        update { state, now in
            Self.change(key, in: &state, at: now) {
                $0.lower(to: remaining, rule: rule, rules: rules, at: now)
            }
        }
    }

    /// Returns the remaining permits of a rule, which are negative after reservations ahead.
    /// - Parameters:
    ///   - key: The key of the quota.
    ///   - rule: The index of the rule.
    ///   - rules: The rules of the quota.
    /// - Returns: The number with a fraction, or nil if there is no rule with this index.
    public func permitsLeft(of key: String, rule: Int = 0, rules: [QuotaRule]) -> Double? {
        guard rules.indices.contains(rule) else { return nil }
        return update { state, now in
            var quota = state.quotas.value(key, at: now)?.value ?? QuotaState()
            return quota.left(of: rules[rule], at: now)
        }
    }

    // MARK: Cool-downs

    /// Begins or prolongs a cool-down.
    public func coolDown(for duration: Duration, _ key: String) async {
        update { state, now in
            let end = now + Self.nanoseconds(duration)
            let present = state.cooldowns.value(key, at: now)?.end ?? now
            if end > present { state.cooldowns.put((), key, until: end, at: now) }
        }
    }

    /// Returns the remaining time of a cool-down, or nil without a cool-down.
    public func cooldown(of key: String) async -> Duration? {
        update { state, now in
            state.cooldowns.value(key, at: now).map { Self.duration($0.end - now) }
        }
    }

    // MARK: Tokens

    /// Returns the content under a key, or nil without content.
    public func token(_ key: String) async -> StoredToken? {
        update { state, now in state.tokens.value(key, at: now)?.value }
    }

    /// Replaces the token under a key, unless the stored token has a higher fencing number.
    public func store(_ token: StoredToken, _ key: String, for lifetime: Duration?) async -> Bool {
        update { state, now in
            if let present = state.tokens.value(key, at: now)?.value, present.fence > token.fence {
                return false
            }
            let end = lifetime.map { now + Self.nanoseconds($0) } ?? .infinity
            state.tokens.put(token, key, until: end, at: now)
            return true
        }
    }

    // MARK: Locks

    /// Takes a lock.
    public func lock(_ key: String, for duration: Duration) async -> LockAnswer {
        update { state, now in
            if let (_, end) = state.locks.value(key, at: now) {
                return .held(atMost: Self.duration(end - now))
            }
            // With a new number each nanosecond, the numbers last for 584 years.
            state.fence &+= 1
            state.locks.put(
                state.fence, key, until: now + Self.nanoseconds(duration), at: now)
            return .taken(SharedLock(key: key, fence: state.fence))
        }
    }

    /// Ends a lock that has not ended already.
    public func unlock(_ lock: SharedLock) async {
        update { state, now in
            if state.locks.value(lock.key, at: now)?.value == lock.fence {
                state.locks.remove(lock.key)
            }
        }
    }

    func isLocked(_ key: String) -> Bool {
        update { state, now in state.locks.value(key, at: now) != nil }
    }

    // MARK: Replicas

    /// Reports that a replica is running, and counts the replicas that have reported.
    public func beat(_ replica: String, of group: String, for lifetime: Duration) async -> Int {
        update { state, now in
            state.replicas.put(
                group, "\(group)|\(replica)", until: now + Self.nanoseconds(lifetime), at: now)
            return state.replicas.countLeft(at: now) { $0 == group }
        }
    }

    var keyCount: Int {
        update { state, now in
            state.quotas.countLeft(at: now) + state.cooldowns.countLeft(at: now)
                + state.tokens.countLeft(at: now) + state.locks.countLeft(at: now)
        }
    }

    // MARK: State

    private func update<Value: Sendable>(_ body: (inout State, Double) -> Value) -> Value {
        state.withLock { state in
            // The clock is read under the lock, because decisions must be in order of time.
            let now = Double(start.duration(to: timeSource.now).wholeNanoseconds)
            return body(&state, now)
        }
    }

    private static func change<Value>(
        _ key: String, in state: inout State, at now: Double, _ body: (inout QuotaState) -> Value
    ) -> Value {
        var quota = state.quotas.value(key, at: now)?.value ?? QuotaState()
        let value = body(&quota)
        state.quotas.put(quota, key, until: quota.end, at: now)
        return value
    }

    private static func nanoseconds(_ duration: Duration) -> Double {
        Double(max(duration, .zero).wholeNanoseconds)
    }

    private static func duration(_ nanoseconds: Double) -> Duration {
        .nanoseconds(Int64(exactly: nanoseconds.rounded(.up)) ?? .max)
    }
}
