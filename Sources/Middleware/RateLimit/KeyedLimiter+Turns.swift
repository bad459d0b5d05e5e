// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

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

    /// Starts the calls whose permits are available, and schedules the next turn.
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
            // The calls behind a refused call get its permits.
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

    // When the next call may start, as far as is known.
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
            // A timer that is due too early schedules the next one.
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

    /// Refuses a call in line, whose place another one takes.
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

    /// The time until a moment, which may have passed.
    static func wait(from now: MonotonicInstant, until moment: Int64) -> Duration {
        max(now.duration(to: MonotonicInstant(nanoseconds: moment)), .zero)
    }
}

// For permits that another source grants.
extension KeyedLimiter {
    /// The keys whose permits meet a condition.
    public func keys(where condition: @Sendable (Source) -> Bool) -> [QuotaKey] {
        state.withLock { $0.lines.keys { condition($0.source) } }
    }

    /// Reads or changes the permits of a key, without starting calls.
    /// - Returns: The value of the closure; nil if the key is not known.
    public func change<Value: Sendable>(
        _ key: QuotaKey, _ body: @Sendable (inout Source, WaitingPermits) -> Value
    ) -> Value? {
        state.withLock { state in
            state.lines.updateIfPresent(key) { body(&$0.source, $0.demand) }
        }
    }

    /// Changes the permits of a key, and starts the calls whose permits are then available.
    /// - Parameters:
    ///   - key: The key.
    ///   - timeSource: The clock.
    ///   - body: Changes the permits; returns which calls must be refused afterwards.
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

    // Refuses calls that were kept only because news of permits could have come.
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

/// What remains to be done after unlocking, because it runs code of others.
struct DeferredActions {
    var served: [Waiter] = []
    var timers: [any TimerToken] = []
    var wantsAttention = false
    private var failed: [(waiter: Waiter, error: ClientError)] = []

    /// How many calls no longer wait.
    var settledCount: Int { served.count + failed.count }

    mutating func fail(_ waiter: Waiter, _ error: ClientError) { failed.append((waiter, error)) }

    func perform() {
        for timer in timers { timer.cancel() }
        for waiter in served { waiter.turn.settle(.success(())) }
        for (waiter, error) in failed { waiter.turn.settle(.failure(error)) }
    }
}

/// The errors of calls that a limit refuses.
enum RateLimitError {
    /// The error of a call that finds the line full.
    static func full(_ key: QuotaKey, _ wait: Duration, isCooling: Bool) -> ClientError {
        let reason =
            isCooling
            ? "\(key) has asked to wait" : "the rate limit for \(key) is reached"
        return ClientError(
            .rateLimited,
            "\(reason), and the queue is full; the next request may start in \(wait.text)",
            transfer: TransferState(.connecting), retryAfter: wait)
    }

    /// The error of a call whose deadline ends before its turn.
    static func late(_ key: QuotaKey, _ wait: Duration, isCooling: Bool) -> ClientError {
        let reason =
            isCooling
            ? "\(key) has asked to wait, so that this call could start in \(wait.text)"
            : "the rate limit for \(key) would let this call start in \(wait.text)"
        return ClientError(
            .deadlineExceeded, "\(reason), but its deadline ends before that",
            transfer: TransferState(.connecting), retryAfter: wait)
    }
}
