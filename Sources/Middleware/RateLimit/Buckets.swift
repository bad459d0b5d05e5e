// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The buckets of all origins, and the calls that wait for a token.
final class Buckets: Sendable {
    private struct State {
        var queue: Int
        var buckets = OriginMap<TokenBucket>()
        var waiting = 0
        var nextTicket: UInt64 = 0
    }

    let rate: TokenBucket.Rate
    private let state: Mutex<State>
    let figures: GateFigures

    private static let help = [
        "turnpike.rate_limit.waiting": "Calls that wait in line for their turn under a rate limit.",
        "turnpike.rate_limit.refusals":
            "Calls that a rate limit refused: its line was full, or the deadline too near.",
    ]

    init(rate: TokenBucket.Rate, queue: Int, meter: (any GateMeter)? = nil) {
        self.rate = rate
        figures = GateFigures(meter, help: Self.help)
        state = Mutex(State(queue: max(queue, 0)))
    }

    /// How many calls may wait.
    var queue: Int { state.withLock { $0.queue } }

    /// Changes how many calls may wait; calls that already wait stay.
    func update(queue: Int) { state.withLock { $0.queue = max(queue, 0) } }

    /// Reports the number of waiting calls to the meter.
    func tell() { figures.tell { [.gauge("turnpike.rate_limit.waiting"): Double(waitingCount)] } }

    /// How many calls wait.
    var waitingCount: Int { state.withLock { $0.waiting } }

    /// Takes a token, or a place in line for one.
    /// - Parameters:
    ///   - origin: The origin whose bucket is used.
    ///   - timeLeft: The time left until the call's deadline.
    ///   - timeSource: Schedules the wake-up.
    /// - Returns: The waiter, or nil if a token was available.
    /// - Throws: `rateLimited` if the line is full, `deadlineExceeded` if the token would come too
    ///   late.
    func take(
        _ origin: Origin, timeLeft: Duration?, timeSource: any TimeSource
    ) throws -> Waiter? {
        try state.withLock { state in
            let isFull = state.waiting >= state.queue
            let ticket = state.nextTicket
            let waiter = try state.buckets.update(origin, orMake: TokenBucket()) { bucket in
                let now = timeSource.now
                if bucket.line.isEmpty, bucket.take(at: now, rate) { return Waiter?.none }
                let wait = bucket.wait(behind: bucket.line.count, at: now, rate)
                if isFull { throw Self.full(origin, wait) }
                if let timeLeft, wait >= timeLeft { throw Self.late(origin, wait) }
                let beginsLine =
                    bucket.line.isEmpty && WaitingLine.isNews(&bucket.toldAt, at: now)
                let waiter = Waiter(ticket: ticket, beginsLine: beginsLine)
                bucket.line.append(waiter)
                if bucket.timer == nil {
                    bucket.timer = schedule(origin, wait, timeSource)
                }
                return waiter
            }
            if waiter != nil {
                state.waiting += 1
                state.nextTicket += 1
            }
            return waiter
        }
    }

    /// Removes a waiter from its line; those behind it move up.
    /// - Returns: Whether it was still in line.
    func leave(_ origin: Origin, _ waiter: Waiter) -> Bool {
        let (hasLeft, timer) = state.withLock { state -> (Bool, (any TimerToken)?) in
            let result =
                state.buckets.updateIfPresent(origin) { bucket in
                    guard bucket.line.remove(waiter.ticket) else { return (false, nil) }
                    guard bucket.line.isEmpty else { return (true, nil) }
                    defer { bucket.timer = nil }
                    return (true, bucket.timer)
                } as (Bool, (any TimerToken)?)?
            guard let result, result.0 else { return (false, nil) }
            state.waiting -= 1
            return result
        }
        timer?.cancel()
        return hasLeft
    }

    private func schedule(
        _ origin: Origin, _ wait: Duration, _ timeSource: any TimeSource
    ) -> any TimerToken {
        timeSource.schedule(after: wait) { [self] in serve(origin, timeSource) }
    }

    private func serve(_ origin: Origin, _ timeSource: any TimeSource) {
        let served = state.withLock { state -> [Waiter] in
            let served = state.buckets.updateIfPresent(origin) { bucket in
                let now = timeSource.now
                var served: [Waiter] = []
                while !bucket.line.isEmpty, bucket.take(at: now, rate) {
                    if let waiter = bucket.line.popFirst() { served.append(waiter) }
                }
                bucket.timer =
                    bucket.line.isEmpty
                    ? nil : schedule(origin, bucket.wait(behind: 0, at: now, rate), timeSource)
                return served
            }
            state.waiting -= served?.count ?? 0
            return served ?? []
        }
        for waiter in served { waiter.turn.settle(.success(())) }
    }

    private static func full(_ origin: Origin, _ wait: Duration) -> ClientError {
        ClientError(
            .rateLimited,
            "the rate limit for \(origin) is reached, and the queue is full; the next request may"
                + " start in \(wait.text)",
            transfer: TransferState(.connecting), retryAfter: wait)
    }

    private static func late(_ origin: Origin, _ wait: Duration) -> ClientError {
        ClientError(
            .deadlineExceeded,
            "the rate limit for \(origin) would let this call start in \(wait.text), but its"
                + " deadline ends before that",
            transfer: TransferState(.connecting), retryAfter: wait)
    }
}
