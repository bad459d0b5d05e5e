// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport
import TurnpikeTraffic

/// The rules of a limit, and the resulting numbers for the use of the store.
struct QuotaPlan: Sendable {
    let rules: [QuotaRule]
    let access: SharedAccess
    let burst: Int
    /// The name of the quota in a store, or nil if the limit's position in the stack identifies the
    /// quota.
    let key: String?
    private let places = QuotaPlaces()
    private let fastest: Double
    private let slowest: Double

    // The time in nanoseconds that one reservation for waiting calls covers, over all replicas.
    // With a short time, replicas take turns, and a lost replica loses few permits. The time must
    // be longer than a round trip, because no permit must be lost between reservations.
    private static let portionTime = 50e6
    // The time in nanoseconds for which a lease has enough permits.
    private static let leaseTime = 10e6
    /// The longest time between the reservation of a permit and its due time.
    static let longestReach = Duration.seconds(10)

    init(_ rules: [QuotaRule], access: SharedAccess, key: String? = nil) {
        // A repeated rule would be charged twice.
        var known: Set<String> = []
        let rules = rules.filter { known.insert($0.identity).inserted }
        self.rules = rules
        self.access = access
        self.key = key
        burst = rules.burst
        fastest = rules.intervals.min() ?? 1e-3
        slowest = rules.intervals.max() ?? 1e-3
    }

    /// The number of permits that are reserved at once for waiting calls.
    ///
    /// The next portion is requested before the last portion is used. The round trip costs no
    /// quota.
    func portion(_ replicas: Int) -> Int {
        max(Int(min(Self.portionTime / fastest / Double(replicas), 1e6)), 2)
    }

    /// Returns the longest time ahead for which permits are reserved for waiting calls.
    ///
    /// Each replica has space for two portions.
    ///
    /// A replica without space would have to repeat requests, and would have no place in the queue.
    func reach(_ replicas: Int) -> Duration {
        let two = slowest.rounded(.up) * 2 * (Double(replicas) + 1)
        return min(.nanoseconds(Int64(min(max(two, 1e9), 1e10))), Self.longestReach)
    }

    /// Returns the maximum number of idle permits in this replica.
    ///
    /// All replicas together hold at most a quarter of the burst.
    func maxLease(_ replicas: Int?) -> Int {
        replicas.map { Int(min(Double(burst) / (4 * Double($0)), 1e6)) } ?? 0
    }

    /// Returns the expected number of permits that calls use in the time of a lease.
    func lease(forUse used: Int, in time: Int64) -> Int {
        Int(min(Double(used) * min(Self.leaseTime / Double(max(time, 1)), 1), 1e6))
    }

    /// The rules in the form for the store, in the order of ``rules``.
    var storedRules: [QuotaRule] {
        if let key { return rules.map { $0.identified(by: "/" + key) } }
        let places = places.all
        return rules.enumerated().map { index, rule in
            let place = places.indices.contains(index) ? places[index] : 0
            return place == 0 ? rule : rule.identified(by: "#\(place + 1)")
        }
    }

    /// Returns the rules for a request.
    ///
    /// The burst excludes the idle permits of leases.
    func sentRules(hasLeases: Bool) -> [QuotaRule] {
        let rules = storedRules
        return hasLeases ? rules.map { $0.grantingBurst(times: 0.75) } : rules
    }

    /// Records the earlier limits in the same stack.
    ///
    /// Limits with the same rule have separate states for the rule. The number of equal earlier
    /// limits identifies the state of a limit. The same limit of all replicas therefore has the
    /// same state, and other gates have no influence. If one limit is in the stacks of several
    /// clients, only the place in the first stack is used, because the state must never change.
    func place(after others: [QuotaPlan]) {
        guard places.all.isEmpty else { return }
        let others = others.filter { $0.key == nil && $0.access.group == access.group }
        places.all = rules.map { rule in
            others.count { $0.rules.contains { $0.identity == rule.identity } }
        }
    }

    /// Returns this replica's share of the quota, for the time without answers of the store.
    func share(_ replicas: Int) -> [QuotaRule] {
        rules.map { rule in
            let count = Double(max(replicas, 1))
            return QuotaRule(rule.permits / count, per: rule.period, burst: rule.burst / count)
        }
    }

    /// Checks an answer, and limits the times in the answer.
    ///
    /// Without an offset, a rule would be violated. Without a limit, calls might wait for a year.
    func checked(_ answer: QuotaAnswer) throws -> QuotaAnswer {
        switch answer {
        case .granted(let grant):
            guard grant.permits > 0, grant.offsets.count == rules.count,
                grant.offsets.allSatisfy({ $0 <= Self.longestReach * 2 })
            else { throw UnusableGrant() }
            return answer
        case .exhausted(let after): return .exhausted(retryAfter: Self.clamped(after))
        case .coolingDown(let left): return .coolingDown(Self.clamped(left))
        }
    }

    private static func clamped(_ time: Duration) -> Duration {
        min(max(time, .zero), .seconds(1_000_000_000))
    }

    private struct UnusableGrant: Error, CustomStringConvertible {
        var description: String { "the granted permits do not match the request" }
    }

    /// Returns the shortest time in which `permits` become available.
    func leastTime(for permits: Int) -> Int64 {
        Int64(nanoseconds: fastest * Double(max(permits, 0)))
    }
}

private final class QuotaPlaces: Sendable {
    private let places = Mutex<[Int]>([])

    var all: [Int] {
        get { places.withLock { $0 } }
        set { places.withLock { $0 = newValue } }
    }
}

extension [QuotaRule] {
    var intervals: [Double] { map { Swift.max($0.nanosecondsPerPermit, 1e-3) } }

    var burst: Int { Int(reduce(1e12) { Swift.min($0, Swift.max($1.burst, 1)) }) }
}
