// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport
public import TurnpikeTraffic

/// The permits of one key that a replica has: permits reserved in the store, and buckets for the
/// time without a reachable store.
///
/// `LeasedPermits` only decides; `QuotaDriver` acts. Times are nanoseconds of the monotonic clock.
public struct LeasedPermits: PermitSource {
    enum Step {
        case take(QuotaRequest)
        /// Returns permits to the store; a negative number charges permits.
        case giveBack(Int)
        /// Waits until the given time, or without a time until the state of the key has changed.
        case pause(until: Int64?)
        case end
    }

    let plan: QuotaPlan
    // While the store cannot be reached, these buckets decide instead of the store.
    private var buckets: TokenBuckets?
    private(set) var reserved: ReservedPermits

    /// Whether a driver task runs for this key; see ``QuotaDriver/drive(_:_:by:)``.
    var isDriven = false
    var wake: OneShot<Void>?
    private var isAsking = false
    private var forecast = RefillForecast()
    private var lease = QuotaLease()
    // The permits to return to the store; a negative number is charged.
    private var owed = 0
    private var replicas = 1
    private var lastCall = Int64.min
    private var loweredAt = Int64.min
    private var loweredTo = 0

    // If no call comes, the driver still asks an unreachable store for this time, in nanoseconds.
    private static let probeTime: Int64 = 1_000_000_000

    init(_ plan: QuotaPlan) {
        self.plan = plan
        reserved = ReservedPermits(plan.rules)
    }

    var isLocal: Bool { buckets != nil }

    /// Whether a driver task asks the store for the key.
    public var isInUse: Bool { isDriven }

    // MARK: Calls

    /// Takes the permits of a call, if they are available.
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

    /// The earliest time at which a call may start if other calls before it need `permits`.
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

    /// The time at which the first waiting call may start; nil until the store has answered.
    public func turn(of cost: Int) -> Int64? {
        let due = reserved.due(of: cost)
        guard let start = buckets?.turn(of: cost) else { return due }
        return min(due ?? .max, start)
    }

    // MARK: Corrections

    /// Changes how many permits remain.
    ///
    /// A negative number charges permits.
    public mutating func correct(_ permits: Int, at now: Int64) {
        guard isLocal else { return owed += permits }
        buckets?.correct(permits, at: now)
    }

    /// Lowers the remaining permits of one rule.
    /// - Returns: Whether to tell the store: if the number has halved, and otherwise at most every
    ///   100 ms. So most responses cost no operation.
    public mutating func lower(to permits: Int, rule: Int, at now: Int64) -> Bool {
        if isLocal { return buckets?.lower(to: permits, rule: rule, at: now) ?? false }
        if now < loweredAt.addingSaturating(100_000_000), permits * 2 > loweredTo { return false }
        loweredAt = now
        loweredTo = permits
        return true
    }

    mutating func takeIdle(_ line: WaitingPermits) -> Int {
        defer { owed = 0 }
        // Without this reset, the next lease would be requested at once.
        lease.forget()
        return owed + reserved.removeLast(reserved.count - line.all)
    }

    // MARK: The store

    /// Whether the driver must act.
    ///
    /// Each call asks this, so the test is cheap.
    public func wantsAttention(for line: WaitingPermits, at now: Int64) -> Bool {
        // A driver that is not paused decides its next action by itself.
        if isAsking || isDriven && wake == nil { return false }
        if isLocal { return !isDriven && forecast.mayAsk(at: now) }
        if owed != 0 { return true }
        let idle = reserved.count - line.all
        // Without a driver, no task would ask the store later.
        if idle < 0 { return !isDriven || forecast.mayAsk(at: now) && asks(for: line) }
        return idle > lease.most || lease.isLow(idle) && forecast.mayAsk(at: now)
    }

    // The next portion is requested when the permits cover only the first call, or half a portion.
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
        // During a cool-down, no call uses permits, so the permits are returned.
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

    /// Handles an answer of the store; nil means that the store gave no answer.
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
