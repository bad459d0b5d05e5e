// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The quota of one key as a replica knows it: the calls that wait, the permits that it has reserved
/// in the store, and buckets for a limit that is local, or is so while the store is away.
///
/// It decides; ``QuotaLines`` acts. Times are nanoseconds of the monotonic clock.
struct QuotaLine: OriginEntry {
    /// What the driver of a line does next.
    enum Step {
        case take(QuotaRequest)
        /// Gives permits back; a negative number charges them.
        case giveBack(Int)
        /// Waits for a moment, if there is one, or until something has changed.
        case pause(until: Int64?)
        case end
    }

    let plan: QuotaPlan
    var line = WaitingLine()
    /// How many permits the calls in line need.
    var waitingCost = 0
    /// Serves the first call in line.
    var timer: (any TimerToken)?
    var timerDue = Int64.max
    /// When it was last said that calls wait.
    var toldAt: MonotonicInstant?

    var buckets: QuotaBuckets
    /// Whether the buckets decide, and not the store.
    private(set) var isLocal: Bool
    private(set) var pocket: QuotaPocket

    /// Whether a task asks the store for this line; see ``QuotaLines/drive(_:by:)``.
    var isDriven = false
    /// Wakes it up while it pauses.
    var wake: OneShot<Void>?
    private var isAsking = false
    private var outlook = QuotaOutlook()
    private var lease = QuotaLease()
    // The permits that are to be returned; a negative number is to be charged.
    private var owed = 0
    private var replicas = 1
    private var lastCall = Int64.min
    private var loweredAt = Int64.min
    private var loweredTo = 0

    // While the store is away and no call comes, it is not asked for longer than this.
    private static let probeTime: Int64 = 1_000_000_000

    init(_ plan: QuotaPlan) {
        self.plan = plan
        buckets = QuotaBuckets(plan.rates)
        pocket = QuotaPocket(plan.rates)
        isLocal = plan.access == nil
    }

    var isInUse: Bool { !line.isEmpty || isDriven }

    // MARK: Calls

    /// Takes the permits of a call, if they are there.
    mutating func takeNow(_ cost: Int, at now: Int64) -> Bool {
        if isLocal, pocket.isEmpty {
            lastCall = now
            return buckets.take(cost, at: now)
        }
        if pocket.take(cost, at: now) {
            lease.count(cost)
            return true
        }
        return isLocal && buckets.take(cost, at: now)
    }

    /// The earliest moment at which a call may start behind those in line.
    func earliestStart(_ cost: Int, at now: Int64) -> Int64 {
        if let due = pocket.due(of: cost, behind: waitingCost) { return due }
        let behind = max(waitingCost - pocket.count, 0)
        if isLocal { return max(buckets.start(behind: behind, cost), now) }
        let missing = behind + min(cost, plan.rates.burst)
        if let last = pocket.lastDue, last > now {
            return last.addingSaturating(plan.leastTime(for: missing))
        }
        if mayStartSoon(at: now) { return now }
        return outlook.scarceUntil.addingSaturating(plan.leastTime(for: missing - 1))
    }

    /// Whether a call may only have to wait for an answer of the store, so that no line counts.
    func mayStartSoon(at now: Int64) -> Bool {
        !isLocal && !outlook.isScarce(at: now)
    }

    /// When the first call in line may start; nil if the store has not said so yet.
    var firstStart: Int64? {
        guard let first = line.first else { return nil }
        let due = pocket.due(of: first.cost)
        return isLocal ? min(due ?? .max, buckets.start(behind: 0, first.cost)) : due
    }

    mutating func append(_ waiter: Waiter) {
        line.append(waiter)
        waitingCost += waiter.cost
    }

    mutating func remove(_ waiter: Waiter) -> Bool {
        guard line.remove(waiter.ticket) else { return false }
        waitingCost -= waiter.cost
        return true
    }

    // MARK: Corrections

    /// Changes how many permits are left; negative numbers charge permits.
    mutating func correct(_ permits: Int, at now: Int64) {
        guard isLocal else { return owed += permits }
        if permits > 0 { buckets.giveBack(permits) } else { buckets.charge(-permits, at: now) }
    }

    /// Lowers what is left under one rule.
    /// - Returns: Whether the store is to be told. It is told of what has become less, and otherwise
    ///   at most every 100 ms, so that not each response costs an operation.
    mutating func lower(to permits: Int, rule: Int, at now: Int64) -> Bool {
        if isLocal {
            buckets.lower(to: Double(permits), rule: rule, at: now)
            return false
        }
        if now < loweredAt.addingSaturating(100_000_000), permits * 2 > loweredTo { return false }
        loweredAt = now
        loweredTo = permits
        return true
    }

    /// Takes all permits that no waiting call needs.
    mutating func takeIdle() -> Int {
        defer { owed = 0 }
        // Otherwise the next lease would be asked for at once.
        lease.forget()
        return owed + pocket.removeLast(pocket.count - waitingCost)
    }

    // MARK: The store

    /// Whether the driver has something to do: a cheap test on the path of each call.
    func wantsStep(at now: Int64) -> Bool {
        if isAsking { return false }
        if isLocal { return !isDriven && outlook.mayAsk(at: now) }
        if owed != 0 { return true }
        let idle = pocket.count - waitingCost
        // Without a driver nobody would ask later.
        if idle < 0 { return !isDriven || outlook.mayAsk(at: now) && asksForWaiting }
        return idle > lease.most || lease.isLow(idle) && outlook.mayAsk(at: now)
    }

    // The next portion is asked for while the first call, or half of the present portion, is covered.
    private var asksForWaiting: Bool {
        let count = pocket.count
        return count <= line.first?.cost ?? 1 || count * 2 <= plan.portion(replicas)
    }

    /// Decides what the driver does next.
    mutating func nextStep(_ access: SharedAccess, key: String, coolingUntil: Int64?, at now: Int64)
        -> Step
    {
        replicas = access.replicas
        lease.measure(plan, replicas: access.confirmedReplicas, at: now)
        // Permits are not used while a cool-down lasts.
        owed += pocket.removeLast(
            coolingUntil == nil ? pocket.count - waitingCost - lease.most : pocket.count)
        let idle = line.isEmpty ? pocket.count : 0
        owed += pocket.removeLast(lease.unneeded(of: idle, at: now))
        if owed != 0 {
            defer { owed = 0 }
            return .giveBack(owed)
        }
        if let coolingUntil { return line.isEmpty ? .end : .pause(until: coolingUntil) }
        let mayAsk = outlook.mayAsk(at: now)
        if mayAsk, let request = request(key) {
            isAsking = true
            return .take(request)
        }
        if isLocal {
            let isUsed = !line.isEmpty || lastCall.addingSaturating(Self.probeTime) > now
            return isUsed || !pocket.isEmpty ? .pause(until: outlook.retryAt) : .end
        }
        if !line.isEmpty { return .pause(until: mayAsk ? nil : outlook.retryAt) }
        return pocket.isEmpty ? .end : .pause(until: lease.checkAt)
    }

    private func request(_ key: String) -> QuotaRequest? {
        let missing = waitingCost - pocket.count
        let minimum: Int
        let maximum: Int
        if missing > 0, isLocal || asksForWaiting {
            minimum = max((line.first?.cost ?? 1) - pocket.count, 1)
            maximum = min(missing + lease.size, max(plan.portion(replicas), outlook.grown))
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

    /// Takes an answer of the store; nil if it had none.
    mutating func answered(
        _ answer: QuotaAnswer?, _ access: SharedAccess, at now: MonotonicInstant
    ) {
        isAsking = false
        let nanoseconds = now.nanoseconds
        switch answer {
        case .granted(let grant):
            beShared()
            pocket.add(grant, at: nanoseconds)
            outlook.granted(grant.permits, last: pocket.lastDue ?? nanoseconds, at: now)
        case .exhausted(let after):
            beShared()
            outlook.exhausted(after, reach: plan.reach(replicas), at: now)
        case .coolingDown(let left):
            beShared()
            outlook.coolingDown(left, at: now)
        case nil:
            if !isLocal {
                isLocal = true
                buckets = QuotaBuckets(plan.share(access.replicas), emptyAt: nanoseconds)
                lastCall = nanoseconds
            }
            outlook.failed(nextAdmission: access.nextAdmission(at: now), at: now)
        }
    }

    private mutating func beShared() {
        if plan.access != nil { isLocal = false }
    }
}
