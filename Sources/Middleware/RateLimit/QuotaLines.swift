// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The quotas of all keys, and the calls that wait for their permits.
final class QuotaLines: Sendable {
    struct State {
        var queue: Int
        var lines = BoundedMap<QuotaKey, QuotaLine>()
        var waiting = 0
        var nextTicket: UInt64 = 0
        /// Operations on the store that are under way, and who waits for their end.
        var operations = 0
        var isDrained: [OneShot<Void>] = []
        /// How many lines go on locally, because the store is away, of those that have a driver.
        var localLines = 0
        var timeSource: (any TimeSource)?
    }

    let plan: QuotaPlan
    /// Until when nothing is sent; nil if the limit does not honour cool-downs.
    let cooldowns: Cooldowns?
    let state: Mutex<State>
    let figures: GateFigures
    let news = QuotaNews()

    private static let help = [
        "turnpike.rate_limit.waiting": "Calls that wait in line for their turn under a rate limit.",
        "turnpike.rate_limit.refusals":
            "Calls that a rate limit refused: its line was full, or the deadline too near.",
        "turnpike.rate_limit.local":
            "Quotas that go on locally, because the store of shared state is away.",
        "turnpike.rate_limit.taken": "Permits that were taken from shared quotas.",
        "turnpike.rate_limit.given_back": "Permits that were given back to shared quotas unused.",
    ]

    init(
        _ rules: [QuotaRule], queue: Int, shared: SharedState? = nil, key: String? = nil,
        cooldowns: Cooldowns? = nil, meter: (any GateMeter)? = nil
    ) {
        plan = QuotaPlan(rules, access: shared?.access, key: key)
        self.cooldowns = cooldowns ?? shared?.cooldowns
        figures = GateFigures(meter, help: Self.help)
        state = Mutex(State(queue: max(queue, 0)))
    }

    /// How many calls may wait.
    var queue: Int { state.withLock { $0.queue } }

    /// Takes the queue and the meter of others; calls that already wait stay.
    func update(to other: QuotaLines) {
        let queue = other.queue
        state.withLock { $0.queue = queue }
        figures.move(to: other.figures.meter)
    }

    /// Reports the number of waiting calls to the meter.
    func tell() { figures.tell { [.gauge("turnpike.rate_limit.waiting"): Double(waitingCount)] } }

    /// How many calls wait.
    var waitingCount: Int { state.withLock { $0.waiting } }

    /// How many permits are reserved in the store.
    var pocketCount: Int {
        state.withLock { state in
            state.lines.keys { !$0.pocket.isEmpty }.reduce(0) {
                $0 + (state.lines[$1]?.pocket.count ?? 0)
            }
        }
    }

    /// Whether a quota goes on locally.
    var isLocal: Bool { state.withLock { $0.localLines > 0 } }

    // MARK: Calls

    /// Takes permits, or a place in line for them.
    /// - Parameters:
    ///   - key: Whose quota is used.
    ///   - cost: How many permits the call takes, at least 1.
    ///   - deadline: When the call must have ended.
    ///   - timeSource: Schedules the wake-up.
    /// - Returns: The waiter, or nil if the permits were there.
    /// - Throws: `rateLimited` if the line is full, `deadlineExceeded` if the permits would come too
    ///   late.
    func take(
        _ key: QuotaKey, cost: Int = 1, deadline: MonotonicInstant? = nil,
        timeSource: any TimeSource
    ) throws -> Waiter? {
        var effects = QuotaEffects()
        let waiter = try state.withLock { state in
            let isFull = state.waiting >= state.queue
            let ticket = state.nextTicket
            let waiter = try state.lines.update(key, orMake: QuotaLine(plan)) { line in
                let now = timeSource.now
                let coolingUntil = cooldowns?.end(of: key, at: now)?.nanoseconds
                if coolingUntil == nil, line.line.isEmpty, line.takeNow(cost, at: now.nanoseconds) {
                    if plan.access != nil { wake(&line, at: now, &effects) }
                    return Waiter?.none
                }
                let start = max(line.earliestStart(cost, at: now.nanoseconds), coolingUntil ?? .min)
                let wait = Self.wait(from: now, until: start)
                if isFull, coolingUntil != nil || !line.mayStartSoon(at: now.nanoseconds) {
                    throw Self.full(key, wait, isCooling: coolingUntil != nil)
                }
                if let deadline, wait >= max(now.duration(to: deadline), .zero) {
                    throw Self.late(key, wait, isCooling: coolingUntil != nil)
                }
                let beginsLine = line.line.isEmpty && WaitingLine.isNews(&line.toldAt, at: now)
                let waiter = Waiter(
                    ticket: ticket, beginsLine: beginsLine, cost: cost, deadline: deadline)
                line.append(waiter)
                arm(key, &line, coolingUntil, timeSource, &effects)
                if plan.access != nil { wake(&line, at: now, &effects) }
                return waiter
            }
            if waiter != nil {
                state.waiting += 1
                state.nextTicket += 1
            }
            return waiter
        }
        perform(effects, key, timeSource)
        return waiter
    }

    /// Takes permits if they are there at once.
    /// - Returns: Whether they were.
    func takeNow(_ key: QuotaKey, cost: Int, timeSource: any TimeSource) -> Bool {
        if cost <= 0 { return true }
        do {
            guard let waiter = try take(key, cost: cost, timeSource: timeSource) else {
                return true
            }
            // Otherwise it was served just now.
            return !leave(key, waiter, timeSource)
        } catch {
            return false
        }
    }

    /// Removes a waiter from its line; those behind it move up.
    /// - Returns: Whether it was still in line.
    func leave(_ key: QuotaKey, _ waiter: Waiter, _ timeSource: any TimeSource) -> Bool {
        var effects = QuotaEffects()
        let hasLeft = state.withLock { state in
            let hasLeft =
                state.lines.updateIfPresent(key) { line in
                    guard line.remove(waiter) else { return false }
                    // The next one may cost less, so that its permits are there already.
                    serve(key, &line, timeSource, &effects)
                    return true
                } ?? false
            if hasLeft { state.waiting -= 1 + effects.settledCount }
            return hasLeft
        }
        perform(effects, key, timeSource)
        return hasLeft
    }

    /// Changes what is left of a quota; negative numbers charge permits.
    func correct(_ permits: Int, of key: QuotaKey, _ timeSource: any TimeSource) {
        if permits == 0 { return }
        var effects = QuotaEffects()
        state.withLock { state in
            state.lines.update(key, orMake: QuotaLine(plan)) { line in
                line.correct(permits, at: timeSource.now.nanoseconds)
                serve(key, &line, timeSource, &effects)
            }
            state.waiting -= effects.settledCount
        }
        perform(effects, key, timeSource)
    }

    func perform(_ effects: QuotaEffects, _ key: QuotaKey, _ timeSource: any TimeSource) {
        effects.perform()
        if effects.startsDriver { drive(key, by: timeSource) }
    }

    // MARK: Turns

    /// Serves the calls whose permits are there, and schedules the next turn.
    func serve(
        _ key: QuotaKey, _ line: inout QuotaLine, _ timeSource: any TimeSource,
        _ effects: inout QuotaEffects
    ) {
        let now = timeSource.now
        let coolingUntil = cooldowns?.end(of: key, at: now)?.nanoseconds
        while let first = line.line.first {
            if coolingUntil == nil, line.takeNow(first.cost, at: now.nanoseconds) {
                if line.remove(first) { effects.served.append(first) }
                continue
            }
            // What it would have used is left to those behind it.
            guard let deadline = first.deadline,
                let start = Self.start(line, coolingUntil), deadline.nanoseconds <= start,
                line.remove(first)
            else { break }
            let wait = Self.wait(from: now, until: start)
            effects.failed.append(
                (first, Self.late(key, wait, isCooling: coolingUntil != nil)))
        }
        arm(key, &line, coolingUntil, timeSource, &effects)
        if plan.access != nil { wake(&line, at: now, &effects) }
    }

    // When the first call may start, as far as is known.
    private static func start(_ line: QuotaLine, _ coolingUntil: Int64?) -> Int64? {
        guard let coolingUntil, !line.line.isEmpty else { return line.firstStart }
        return max(line.firstStart ?? coolingUntil, coolingUntil)
    }

    private func arm(
        _ key: QuotaKey, _ line: inout QuotaLine, _ coolingUntil: Int64?,
        _ timeSource: any TimeSource, _ effects: inout QuotaEffects
    ) {
        let start = Self.start(line, coolingUntil)
        if let timer = line.timer {
            // A timer that is too early schedules the next one.
            if let start, line.timerDue <= start { return }
            effects.timers.append(timer)
            line.timer = nil
        }
        guard let start else { return }
        line.timerDue = start
        let wait = Self.wait(from: timeSource.now, until: start)
        line.timer = timeSource.schedule(after: wait) { [self] in
            turn(key, timeSource)
        }
    }

    private func turn(_ key: QuotaKey, _ timeSource: any TimeSource) {
        var effects = QuotaEffects()
        state.withLock { state in
            state.lines.updateIfPresent(key) { line in
                line.timer = nil
                serve(key, &line, timeSource, &effects)
            }
            state.waiting -= effects.settledCount
        }
        perform(effects, key, timeSource)
    }

    // Lets the driver act, if there is something to do.
    private func wake(
        _ line: inout QuotaLine, at now: MonotonicInstant, _ effects: inout QuotaEffects
    ) {
        guard line.wantsStep(at: now.nanoseconds) else { return }
        if !line.isDriven {
            line.isDriven = true
            effects.startsDriver = true
        } else if let wake = line.wake {
            line.wake = nil
            effects.wake = wake
        }
    }
}

extension QuotaLines {
    /// The time until a moment, which may have passed.
    static func wait(from now: MonotonicInstant, until moment: Int64) -> Duration {
        max(now.duration(to: MonotonicInstant(nanoseconds: moment)), .zero)
    }

    /// The error of a call that finds the line full.
    static func full(_ key: QuotaKey, _ wait: Duration, isCooling: Bool = false) -> ClientError {
        let reason =
            isCooling
            ? "\(key) has asked to wait" : "the rate limit for \(key) is reached"
        return ClientError(
            .rateLimited,
            "\(reason), and the queue is full; the next request may start in \(wait.text)",
            transfer: TransferState(.connecting), retryAfter: wait)
    }

    /// The error of a call whose deadline ends before its turn.
    static func late(_ key: QuotaKey, _ wait: Duration, isCooling: Bool = false) -> ClientError {
        let reason =
            isCooling
            ? "\(key) has asked to wait, so that this call could start in \(wait.text)"
            : "the rate limit for \(key) would let this call start in \(wait.text)"
        return ClientError(
            .deadlineExceeded, "\(reason), but its deadline ends before that",
            transfer: TransferState(.connecting), retryAfter: wait)
    }
}
