// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// The permits of each key of a limit, and the calls that wait for permits.
///
/// Calls of higher classes start first (``Criticality``). The limiter keeps 1024 keys, or more if
/// running or waiting calls need more keys.
public final class KeyedLimiter<Source: PermitSource>: Sendable {
    /// Does the work that a source of permits requests, outside of the lock.
    public typealias Attendant =
        @Sendable (KeyedLimiter<Source>, QuotaKey, any TimeSource) -> Void

    struct Line: LineEntry {
        var source: Source
        var line = WaitingLine()
        // The timer that starts the next call.
        var timer: (any TimerToken)?
        var timerDue = Int64.max
        var toldAt: MonotonicInstant?

        init(_ source: Source) { self.source = source }

        var isInUse: Bool { !line.isEmpty || source.isInUse }
        var next: Waiter? { line.first?.waiter }
        var demand: WaitingPermits { WaitingPermits(all: line.cost, first: next?.cost) }
        var turn: Int64? { next.flatMap { source.turn(of: $0.cost) } }
    }

    struct State {
        var queue: Int
        var lines = BoundedMap<QuotaKey, Line>()
        var waiting = 0
        var nextTicket: UInt64 = 0
    }

    /// The rules, without repetitions.
    public let rules: [QuotaRule]
    /// The cool-downs for which the limit waits, or nil if the limit ignores cool-downs.
    public let cooldowns: Cooldowns?
    /// The metrics of the limit.
    public let figures: GateFigures
    let rates: PermitRates
    private let make: @Sendable () -> Source
    let attendant: Attendant?
    let state: Mutex<State>

    /// Creates a limiter.
    /// - Parameters:
    ///   - rules: The rules, for the gate's facts and for fields of responses.
    ///   - queue: The maximum number of waiting calls of all keys together.
    ///   - cooldowns: Delays calls to an origin with a running cool-down.
    ///   - figures: Receives the number of waiting calls and of refused calls.
    ///   - attendant: Does the work that the source of permits requests.
    ///   - make: Creates the permits of a new key.
    public init(
        _ rules: [QuotaRule], queue: Int, cooldowns: Cooldowns?, figures: GateFigures,
        attendant: Attendant? = nil, _ make: @escaping @Sendable () -> Source
    ) {
        // A repeated rule would be charged twice.
        var known: Set<QuotaRule> = []
        self.rules = rules.filter { known.insert($0).inserted }
        self.cooldowns = cooldowns
        self.figures = figures
        self.attendant = attendant
        self.make = make
        rates = PermitRates(self.rules)
        state = Mutex(State(queue: max(queue, 0)))
    }

    var queue: Int { state.withLock { $0.queue } }

    var waitingCount: Int { state.withLock { $0.waiting } }

    /// Adopts the queue length and the meter of another limiter, and keeps waiting calls in line.
    func update(to other: KeyedLimiter) {
        let queue = other.queue
        state.withLock { $0.queue = queue }
        figures.move(to: other.figures.meter)
    }

    func tell() { figures.tell { [.gauge("turnpike.rate_limit.waiting"): Double(waitingCount)] } }

    // MARK: Calls

    /// Takes permits, or adds the call to the line and returns the waiter of the call.
    ///
    /// Throws `rateLimited` if the line is full, and `deadlineExceeded` if the permits would be
    /// available too late.
    func take(
        _ key: QuotaKey, _ precedence: Precedence = Precedence(), cost: Int = 1,
        deadline: MonotonicInstant? = nil, timeSource: any TimeSource
    ) throws -> Waiter? {
        var actions = DeferredActions()
        let waiter = try state.withLock { state -> Waiter? in
            let now = timeSource.now
            let coolingUntil = cooldowns?.end(of: key, at: now)?.nanoseconds
            let ticket = state.nextTicket
            let wish = state.lines.update(key, orMake: Line(make())) {
                line -> (rank: WaitingLine.Rank, due: Int64, maySoon: Bool)? in
                if takeNow(cost, &line, coolingUntil, at: now, &actions) { return nil }
                let rank = line.line.rank(ticket, precedence)
                let before = line.line.cost(before: rank, precedence)
                return (
                    rank, line.source.start(of: cost, behind: before, at: now.nanoseconds),
                    coolingUntil == nil && line.source.mayStartSoon(at: now.nanoseconds)
                )
            }
            guard let (rank, due, maySoon) = wish else { return nil }
            let wait = Self.wait(from: now, until: max(due, coolingUntil ?? .min))
            let isFull = state.waiting >= state.queue && !maySoon
            let outranked = isFull ? state.lines.outranked(by: rank, in: key) : nil
            if isFull, outranked == nil {
                throw RateLimitError.full(key, wait, isCooling: coolingUntil != nil)
            }
            if let deadline, wait >= max(now.duration(to: deadline), .zero) {
                throw RateLimitError.late(key, wait, isCooling: coolingUntil != nil)
            }
            if let (other, last) = outranked {
                refuse(last, of: other, &state, timeSource, &actions)
            }
            state.waiting += 1
            state.nextTicket += 1
            return state.lines.updateIfPresent(key) { line in
                let beginsLine = line.line.isEmpty && WaitingLine.isNews(&line.toldAt, at: now)
                let waiter = Waiter(
                    rank, precedence, beginsLine: beginsLine, cost: cost, deadline: deadline)
                line.line.append(waiter)
                arm(key, &line, coolingUntil, timeSource, &actions)
                notice(line, at: now, &actions)
                return waiter
            }
        }
        perform(actions, key, timeSource)
        return waiter
    }

    /// Takes permits only if all of them are available at once, and returns whether they were.
    func takeNow(_ key: QuotaKey, cost: Int, timeSource: any TimeSource) -> Bool {
        if cost <= 0 { return true }
        var actions = DeferredActions()
        let now = timeSource.now
        let coolingUntil = cooldowns?.end(of: key, at: now)?.nanoseconds
        let isTaken = state.withLock { state in
            state.lines.update(key, orMake: Line(make())) {
                takeNow(cost, &$0, coolingUntil, at: now, &actions)
            }
        }
        perform(actions, key, timeSource)
        return isTaken
    }

    private func takeNow(
        _ cost: Int, _ line: inout Line, _ coolingUntil: Int64?, at now: MonotonicInstant,
        _ actions: inout DeferredActions
    ) -> Bool {
        guard coolingUntil == nil, line.line.isEmpty, line.source.take(cost, at: now.nanoseconds)
        else { return false }
        notice(line, at: now, &actions)
        return true
    }

    /// Removes a call from the line of the call, and returns whether the call was in line.
    func leave(_ key: QuotaKey, _ waiter: Waiter, _ timeSource: any TimeSource) -> Bool {
        var actions = DeferredActions()
        let hasLeft = state.withLock { state in
            let hasLeft =
                state.lines.updateIfPresent(key) { line in
                    guard line.line.remove(waiter.rank) != nil else { return false }
                    // If the next call needs fewer permits, these permits may already be available.
                    serve(key, &line, timeSource, &actions)
                    return true
                } ?? false
            if hasLeft { state.waiting -= 1 + actions.settledCount }
            return hasLeft
        }
        perform(actions, key, timeSource)
        return hasLeft
    }

    /// Adds permits to a quota, or charges permits if the number is negative.
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

    /// Lowers the remaining permits of one rule.
    /// - Returns: Whether the caller must notify other users of the same quota.
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

extension KeyedLimiter {
    func perform(
        _ actions: DeferredActions, _ key: QuotaKey, _ timeSource: any TimeSource
    ) {
        actions.perform()
        if actions.wantsAttention { attendant?(self, key, timeSource) }
    }

    func notice(
        _ line: Line, at now: MonotonicInstant, _ actions: inout DeferredActions
    ) {
        if attendant != nil, line.source.wantsAttention(for: line.demand, at: now.nanoseconds) {
            actions.wantsAttention = true
        }
    }

    func serve(
        _ key: QuotaKey, _ line: inout Line, _ timeSource: any TimeSource,
        _ actions: inout DeferredActions
    ) {
        let now = timeSource.now
        let coolingUntil = cooldowns?.end(of: key, at: now)?.nanoseconds
        while let first = line.next {
            if coolingUntil == nil, line.source.take(first.cost, at: now.nanoseconds) {
                if let served = line.line.serve(first.rank) { actions.served.append(served) }
                continue
            }
            // The calls behind a refused call get the permits of this call.
            guard let deadline = first.deadline,
                let turn = Self.turn(line, coolingUntil), deadline.nanoseconds <= turn,
                line.line.remove(first.rank) != nil
            else { break }
            let wait = Self.wait(from: now, until: turn)
            actions.fail(first, RateLimitError.late(key, wait, isCooling: coolingUntil != nil))
        }
        arm(key, &line, coolingUntil, timeSource, &actions)
        notice(line, at: now, &actions)
    }

    // Returns the earliest start of the next call, or nil if the start is not known.
    private static func turn(_ line: Line, _ coolingUntil: Int64?) -> Int64? {
        guard let coolingUntil, !line.line.isEmpty else { return line.turn }
        return max(line.turn ?? coolingUntil, coolingUntil)
    }

    func arm(
        _ key: QuotaKey, _ line: inout Line, _ coolingUntil: Int64?,
        _ timeSource: any TimeSource, _ actions: inout DeferredActions
    ) {
        let turn = Self.turn(line, coolingUntil)
        if let timer = line.timer {
            // If the running timer fires earlier, the running timer starts the next timer.
            if let turn, line.timerDue <= turn { return }
            actions.timers.append(timer)
            line.timer = nil
        }
        guard let turn else { return }
        line.timerDue = turn
        let wait = Self.wait(from: timeSource.now, until: turn)
        line.timer = timeSource.schedule(after: wait) { [self] in
            takeTurn(key, timeSource)
        }
    }

    private func takeTurn(_ key: QuotaKey, _ timeSource: any TimeSource) {
        var actions = DeferredActions()
        state.withLock { state in
            state.lines.updateIfPresent(key) { line in
                line.timer = nil
                serve(key, &line, timeSource, &actions)
            }
            state.waiting -= actions.settledCount
        }
        perform(actions, key, timeSource)
    }

    func refuse(
        _ rank: WaitingLine.Rank, of key: QuotaKey, _ state: inout State,
        _ timeSource: any TimeSource, _ actions: inout DeferredActions
    ) {
        let now = timeSource.now
        let coolingUntil = cooldowns?.end(of: key, at: now)?.nanoseconds
        let settled = actions.settledCount
        state.lines.updateIfPresent(key) { line in
            guard let waiter = line.line.remove(rank) else { return }
            let due = line.source.start(
                of: waiter.cost, behind: line.line.cost, at: now.nanoseconds)
            let wait = Self.wait(from: now, until: max(due, coolingUntil ?? .min))
            let error = RateLimitError.full(key, wait, isCooling: coolingUntil != nil)
            actions.fail(waiter, error)
            serve(key, &line, timeSource, &actions)
        }
        state.waiting -= actions.settledCount - settled
    }

    /// The time until a moment, or zero if the moment has passed.
    static func wait(from now: MonotonicInstant, until moment: Int64) -> Duration {
        max(now.duration(to: MonotonicInstant(nanoseconds: moment)), .zero)
    }
}

// Methods for permits that another source grants, such as a store.
extension KeyedLimiter {
    /// The keys whose permits fulfil a condition.
    public func keys(where condition: @Sendable (Source) -> Bool) -> [QuotaKey] {
        state.withLock { $0.lines.keys { condition($0.source) } }
    }

    /// Reads or changes the permits of a key, without starting calls.
    /// - Returns: The result of the closure, or nil if the key is unknown.
    public func change<Value: Sendable>(
        _ key: QuotaKey, _ body: @Sendable (inout Source, WaitingPermits) -> Value
    ) -> Value? {
        state.withLock { state in
            state.lines.updateIfPresent(key) { body(&$0.source, $0.demand) }
        }
    }

    /// Changes the permits of a key, and then starts the calls whose permits are available.
    /// - Parameters:
    ///   - key: The key.
    ///   - timeSource: The clock.
    ///   - body: Changes the permits, and returns the kind of calls to refuse, or nil.
    public func refill(
        _ key: QuotaKey, by timeSource: any TimeSource,
        _ body: @Sendable (inout Source) -> LineRefusal?
    ) {
        var actions = DeferredActions()
        state.withLock { state in
            let excess = state.waiting - state.queue
            state.lines.updateIfPresent(key) { line in
                let refusal = body(&line.source)
                serve(key, &line, timeSource, &actions)
                let settled = actions.settledCount
                refuse(refusal, &line, key, excess: excess, at: timeSource.now, &actions)
                if actions.settledCount > settled { serve(key, &line, timeSource, &actions) }
            }
            state.waiting -= actions.settledCount
        }
        perform(actions, key, timeSource)
    }

    private func refuse(
        _ refusal: LineRefusal?, _ line: inout Line, _ key: QuotaKey, excess: Int,
        at now: MonotonicInstant, _ actions: inout DeferredActions
    ) {
        let wait: Duration
        var isCooling = false
        switch refusal {
        case nil: return
        case .excess:
            if line.source.mayStartSoon(at: now.nanoseconds) { return }
            wait = Self.wait(from: now, until: line.turn ?? now.nanoseconds)
        case .late(let after, let cooling):
            (wait, isCooling) = (after, cooling)
            let end = now.advanced(by: wait)
            for waiter in line.line.waiters where waiter.deadline.map({ $0 <= end }) ?? false {
                guard line.line.remove(waiter.rank) != nil else { continue }
                actions.fail(waiter, RateLimitError.late(key, wait, isCooling: isCooling))
            }
        }
        var excess = excess - actions.settledCount
        while excess > 0, let last = line.line.last, let waiter = line.line.remove(last.rank) {
            actions.fail(waiter, RateLimitError.full(key, wait, isCooling: isCooling))
            excess -= 1
        }
    }
}
