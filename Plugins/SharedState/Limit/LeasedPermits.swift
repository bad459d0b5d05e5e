// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport
public import TurnpikeTraffic

/// The permits of one key in a replica, which are reserved in the store or come from local buckets.
///
/// The buckets are used while the store is unreachable. `LeasedPermits` only decides, and
/// `QuotaDriver` acts. Times are nanoseconds of the monotonic clock.
public struct LeasedPermits: PermitSource {
    enum Step {
        case take(QuotaRequest)
        /// Returns permits to the store, or charges permits if the number is negative.
        case giveBack(Int)
        /// Waits until the given time, or without a time until the state of the key has changed.
        case pause(until: Int64?)
        case end
    }

    let plan: QuotaPlan
    // The buckets that are used while the store is unreachable, or nil.
    private var buckets: TokenBuckets?
    private(set) var reserved: ReservedPermits

    /// Whether a driver task runs for this key; see ``QuotaDriver/drive(_:_:by:)``.
    var isDriven = false
    var wake: OneShot<Void>?
    private var isAsking = false
    private var forecast = RefillForecast()
    private var lease = QuotaLease()
    // The number of permits to return to the store, or to charge if negative.
    private var owed = 0
    private var replicas = 1
    private var lastCall = Int64.min
    private var loweredAt = Int64.min
    private var loweredTo = 0

    // The time in nanoseconds for which the driver tests an unreachable store without calls.
    private static let probeTime: Int64 = 1_000_000_000

    init(_ plan: QuotaPlan) {
        self.plan = plan
        reserved = ReservedPermits(plan.rules)
    }

    var isLocal: Bool { buckets != nil }

    /// Whether a driver task runs for the key.
    public var isInUse: Bool { isDriven }

    // MARK: Calls

    /// Takes the permits of a call, if the permits are available.
    public mutating func take(_ cost: Int, at now: Int64) -> Bool {
        if isLocal, reserved.isEmpty {
            lastCall = now
            return buckets?.take(cost, at: now) ?? false
        }
        if reserved.take(cost, at: now) {
            lease.count(cost)
            return true
        }
        return buckets?.take(cost, at: now) ?? false
    }

    /// Returns the earliest start of a call behind other calls that need `permits` permits.
    public func start(of cost: Int, behind permits: Int, at now: Int64) -> Int64 {
        if let due = reserved.due(of: cost, behind: permits) { return due }
        let behind = max(permits - reserved.count, 0)
        if let buckets { return buckets.start(of: cost, behind: behind, at: now) }
        let missing = behind + min(cost, plan.burst)
        if let last = reserved.lastDue, last > now {
            return last.addingSaturating(plan.leastTime(for: missing))
        }
        if mayStartSoon(at: now) { return now }
        return forecast.scarceUntil.addingSaturating(plan.leastTime(for: missing - 1))
    }

    /// Whether a call may start as soon as the store answers.
    public func mayStartSoon(at now: Int64) -> Bool { !isLocal && !forecast.isScarce(at: now) }

    /// Returns the start of the first waiting call, or nil before the store has answered.
    public func turn(of cost: Int) -> Int64? {
        let due = reserved.due(of: cost)
        guard let start = buckets?.turn(of: cost) else { return due }
        return min(due ?? .max, start)
    }

    // MARK: Corrections

    /// Adds permits, or charges permits if the number is negative.
    public mutating func correct(_ permits: Int, at now: Int64) {
        guard isLocal else { return owed += permits }
        buckets?.correct(permits, at: now)
    }

    /// Lowers the remaining permits of one rule.
    /// - Returns: Whether the caller must inform the store, which is the case after halving, or
    ///   after 100 ms. Most responses therefore need no operation.
    public mutating func lower(to permits: Int, rule: Int, at now: Int64) -> Bool {
        if isLocal { return buckets?.lower(to: permits, rule: rule, at: now) ?? false }
        if now < loweredAt.addingSaturating(100_000_000), permits * 2 > loweredTo { return false }
        loweredAt = now
        loweredTo = permits
        return true
    }

    mutating func takeIdle(_ line: WaitingPermits) -> Int {
        defer { owed = 0 }
        // The reset prevents that the driver requests the next lease at once.
        lease.forget()
        return owed + reserved.removeLast(reserved.count - line.all)
    }

    // MARK: The store

    /// Whether the driver must act.
    ///
    /// Each call runs this method, which must be fast.
    public func wantsAttention(for line: WaitingPermits, at now: Int64) -> Bool {
        // A driver that is not paused decides the next action itself.
        if isAsking || isDriven && wake == nil { return false }
        if isLocal { return !isDriven && forecast.mayAsk(at: now) }
        if owed != 0 { return true }
        let idle = reserved.count - line.all
        // Without a driver, no task would send a later request to the store.
        if idle < 0 { return !isDriven || forecast.mayAsk(at: now) && asks(for: line) }
        return idle > lease.most || lease.isLow(idle) && forecast.mayAsk(at: now)
    }

    // The next portion is requested when the permits cover only one call or half a portion.
    private func asks(for line: WaitingPermits) -> Bool {
        let count = reserved.count
        return count <= line.first ?? 1 || count * 2 <= plan.portion(replicas)
    }

    mutating func nextStep(
        _ line: WaitingPermits, key: String, coolingUntil: Int64?, at now: Int64
    ) -> Step {
        let (access, isEmpty) = (plan.access, line.first == nil)
        replicas = access.replicas
        lease.measure(plan, replicas: access.confirmedReplicas, at: now)
        // During a cool-down, no call uses permits. The permits are therefore returned.
        owed += reserved.removeLast(
            coolingUntil == nil ? reserved.count - line.all - lease.most : reserved.count)
        let idle = isEmpty ? reserved.count : 0
        owed += reserved.removeLast(lease.unneeded(of: idle, at: now))
        if owed != 0 {
            defer { owed = 0 }
            return .giveBack(owed)
        }
        if let coolingUntil { return isEmpty ? .end : .pause(until: coolingUntil) }
        let mayAsk = forecast.mayAsk(at: now)
        if mayAsk, let request = request(key, line) {
            isAsking = true
            return .take(request)
        }
        if isLocal {
            let isUsed = !isEmpty || lastCall.addingSaturating(Self.probeTime) > now
            return isUsed || !reserved.isEmpty ? .pause(until: forecast.retryAt) : .end
        }
        if !isEmpty { return .pause(until: mayAsk ? nil : forecast.retryAt) }
        return reserved.isEmpty ? .end : .pause(until: lease.checkAt)
    }

    private func request(_ key: String, _ line: WaitingPermits) -> QuotaRequest? {
        let missing = line.all - reserved.count
        let minimum: Int
        let maximum: Int
        if missing > 0, isLocal || asks(for: line) {
            minimum = max((line.first ?? 1) - reserved.count, 1)
            maximum = min(missing + lease.size, max(plan.portion(replicas), forecast.grown))
        } else if isLocal {
            (minimum, maximum) = (1, 1)
        } else if let wanted = lease.wanted(-missing) {
            (minimum, maximum) = (1, wanted)
        } else {
            return nil
        }
        return QuotaRequest(
            key: key, rules: plan.sentRules(hasLeases: lease.most > 0), minimum: minimum,
            maximum: maximum, reach: plan.reach(replicas))
    }

    /// Handles an answer of the store, or nil for a missing answer.
    mutating func answered(_ answer: QuotaAnswer?, at now: MonotonicInstant) {
        isAsking = false
        if answer != nil { buckets = nil }
        switch answer {
        case .granted(let grant):
            reserved.add(grant, at: now.nanoseconds)
            forecast.granted(grant.permits, last: reserved.lastDue ?? now.nanoseconds, at: now)
        case .exhausted(let after):
            forecast.exhausted(after, reach: plan.reach(replicas), at: now)
        case .coolingDown(let left): forecast.coolingDown(left, at: now)
        case nil:
            if !isLocal {
                buckets = TokenBuckets(plan.share(plan.access.replicas), emptyAt: now.nanoseconds)
                lastCall = now.nanoseconds
            }
            forecast.failed(nextAdmission: plan.access.nextAdmission(at: now), at: now)
        }
    }
}
