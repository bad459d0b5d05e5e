// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// The permits of each key of a limit, and the calls in line for them, first come, first served.
///
/// It keeps 1024 keys, and more only if calls depend on them.
public final class KeyedLimiter<Source: PermitSource>: Sendable {
    /// Does work for a source of permits that asks for it; called outside the lock.
    public typealias Attendant =
        @Sendable (KeyedLimiter<Source>, QuotaKey, any TimeSource) -> Void

    struct Line: OriginEntry {
        var source: Source
        var line = WaitingLine()
        // How many permits the calls in line need.
        var cost = 0
        // Serves the first call in line.
        var timer: (any TimerToken)?
        var timerDue = Int64.max
        // The time of the last report of waiting calls.
        var toldAt: MonotonicInstant?

        init(_ source: Source) { self.source = source }

        var isInUse: Bool { !line.isEmpty || source.isInUse }
        var demand: WaitingPermits { WaitingPermits(all: cost, first: line.first?.cost) }
        var turn: Int64? { line.first.flatMap { source.turn(of: $0.cost) } }

        mutating func append(_ waiter: Waiter) {
            line.append(waiter)
            cost += waiter.cost
        }

        mutating func remove(_ waiter: Waiter) -> Bool {
            guard line.remove(waiter.ticket) else { return false }
            cost -= waiter.cost
            return true
        }
    }

    struct State {
        var queue: Int
        var lines = BoundedMap<QuotaKey, Line>()
        var waiting = 0
        var nextTicket: UInt64 = 0
    }

    /// The rules, each once.
    public let rules: [QuotaRule]
    /// The cool-downs that the limit honours; nil if it honours none.
    public let cooldowns: Cooldowns?
    /// The figures of the limit.
    public let figures: GateFigures
    let rates: PermitRates
    private let make: @Sendable () -> Source
    let attendant: Attendant?
    let state: Mutex<State>

    /// Creates a limiter.
    /// - Parameters:
    ///   - rules: The rules, for facts and for fields of responses.
    ///   - queue: How many calls may wait, over all keys.
    ///   - cooldowns: Holds calls back while their origin has asked to wait.
    ///   - figures: Receives the number of waiting calls, and counts refused calls.
    ///   - attendant: Does the work that the source of permits asks for.
    ///   - make: Makes the permits of a new key.
    public init(
        _ rules: [QuotaRule], queue: Int, cooldowns: Cooldowns?, figures: GateFigures,
        attendant: Attendant? = nil, _ make: @escaping @Sendable () -> Source
    ) {
        // A rule that is in the list twice would be charged twice.
        var known: Set<QuotaRule> = []
        self.rules = rules.filter { known.insert($0).inserted }
        self.cooldowns = cooldowns
        self.figures = figures
        self.attendant = attendant
        self.make = make
        rates = PermitRates(self.rules)
        state = Mutex(State(queue: max(queue, 0)))
    }

    /// How many calls may wait.
    var queue: Int { state.withLock { $0.queue } }

    /// How many calls wait.
    var waitingCount: Int { state.withLock { $0.waiting } }

    /// Takes over the queue and the meter of another limiter; calls that already wait stay.
    func update(to other: KeyedLimiter) {
        let queue = other.queue
        state.withLock { $0.queue = queue }
        figures.move(to: other.figures.meter)
    }

    /// Reports the number of waiting calls to the meter.
    func tell() { figures.tell { [.gauge("turnpike.rate_limit.waiting"): Double(waitingCount)] } }

    // MARK: Calls

    /// Takes permits, or a place in line for them.
    /// - Parameters:
    ///   - key: The owner of the used quota.
    ///   - cost: How many permits the call takes, at least 1.
    ///   - deadline: The time at which the call must have ended.
    ///   - timeSource: Schedules the wake-up.
    /// - Returns: The waiter, or nil if the permits were available.
    /// - Throws: `rateLimited` if the line is full, `deadlineExceeded` if permits would come too
    ///   late.
    func take(
        _ key: QuotaKey, cost: Int = 1, deadline: MonotonicInstant? = nil,
        timeSource: any TimeSource
    ) throws -> Waiter? {
        var actions = DeferredActions()
        let waiter = try state.withLock { state in
            let isFull = state.waiting >= state.queue
            let ticket = state.nextTicket
            let waiter = try state.lines.update(key, orMake: Line(make())) { line in
                let now = timeSource.now
                let coolingUntil = cooldowns?.end(of: key, at: now)?.nanoseconds
                if coolingUntil == nil, line.line.isEmpty,
                    line.source.take(cost, at: now.nanoseconds)
                {
                    notice(line, at: now, &actions)
                    return Waiter?.none
                }
                let due = line.source.start(of: cost, behind: line.cost, at: now.nanoseconds)
                let wait = Self.wait(from: now, until: max(due, coolingUntil ?? .min))
                if isFull, coolingUntil != nil || !line.source.mayStartSoon(at: now.nanoseconds) {
                    throw RateLimitError.full(key, wait, isCooling: coolingUntil != nil)
                }
                if let deadline, wait >= max(now.duration(to: deadline), .zero) {
                    throw RateLimitError.late(key, wait, isCooling: coolingUntil != nil)
                }
                let beginsLine = line.line.isEmpty && WaitingLine.isNews(&line.toldAt, at: now)
                let waiter = Waiter(
                    ticket: ticket, beginsLine: beginsLine, cost: cost, deadline: deadline)
                line.append(waiter)
                arm(key, &line, coolingUntil, timeSource, &actions)
                notice(line, at: now, &actions)
                return waiter
            }
            if waiter != nil {
                state.waiting += 1
                state.nextTicket += 1
            }
            return waiter
        }
        perform(actions, key, timeSource)
        return waiter
    }

    /// Takes permits if they are available at once.
    /// - Returns: Whether they were available.
    func takeNow(_ key: QuotaKey, cost: Int, timeSource: any TimeSource) -> Bool {
        if cost <= 0 { return true }
        do {
            guard let waiter = try take(key, cost: cost, timeSource: timeSource) else {
                return true
            }
            // If the waiter has already left the line, its turn has just come.
            return !leave(key, waiter, timeSource)
        } catch {
            return false
        }
    }

    /// Removes a waiter from its line; the waiters behind it move up.
    /// - Returns: Whether the waiter was still in line.
    func leave(_ key: QuotaKey, _ waiter: Waiter, _ timeSource: any TimeSource) -> Bool {
        var actions = DeferredActions()
        let hasLeft = state.withLock { state in
            let hasLeft =
                state.lines.updateIfPresent(key) { line in
                    guard line.remove(waiter) else { return false }
                    // The next call may cost less, so that its permits are already available.
                    serve(key, &line, timeSource, &actions)
                    return true
                } ?? false
            if hasLeft { state.waiting -= 1 + actions.settledCount }
            return hasLeft
        }
        perform(actions, key, timeSource)
        return hasLeft
    }

    /// Adds permits to the rest of a quota; negative numbers charge permits.
    func correct(_ permits: Int, of key: QuotaKey, _ timeSource: any TimeSource) {
        if permits == 0 { return }
        var actions = DeferredActions()
        state.withLock { state in
            state.lines.update(key, orMake: Line(make())) { line in
                line.source.correct(permits, at: timeSource.now.nanoseconds)
                serve(key, &line, timeSource, &actions)
            }
            state.waiting -= actions.settledCount
        }
        perform(actions, key, timeSource)
    }

    /// Lowers the permits left under one rule.
    /// - Returns: Whether other users of the same quota must be notified.
    public func lower(
        to permits: Int, of key: QuotaKey, rule: Int, by timeSource: any TimeSource
    ) -> Bool {
        let now = timeSource.now.nanoseconds
        return state.withLock { state in
            state.lines.update(key, orMake: Line(make())) { line in
                line.source.lower(to: permits, rule: rule, at: now)
            }
        }
    }
}
