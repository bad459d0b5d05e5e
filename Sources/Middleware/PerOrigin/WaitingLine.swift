// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// A call that waits for its turn.
final class Waiter: Sendable {
    let ticket: UInt64
    /// Whether a line begins with this call, and the gate has reported no such line for a while.
    let beginsLine: Bool
    /// How many permits the call takes.
    let cost: Int
    /// The time at which the call must have ended; nil if there is no limit.
    let deadline: MonotonicInstant?
    let turn = OneShot<Void>()

    init(
        ticket: UInt64, beginsLine: Bool = false, cost: Int = 1, deadline: MonotonicInstant? = nil
    ) {
        self.ticket = ticket
        self.beginsLine = beginsLine
        self.cost = cost
        self.deadline = deadline
    }
}

/// Calls that wait for their turn, first come, first served; any of them may leave.
///
/// Tickets grow from waiter to waiter, so that a binary search finds them.
struct WaitingLine {
    private struct Place {
        let ticket: UInt64
        var waiter: Waiter?
    }

    private var places: [Place] = []
    private var head = 0

    private(set) var count = 0

    /// How many places are stored, including those of waiters that have left.
    var placeCount: Int { places.count }

    init() {}

    var isEmpty: Bool { count == 0 }

    /// The waiter whose turn is next.
    var first: Waiter? { isEmpty ? nil : places[head].waiter }

    /// The waiter that came last.
    var last: Waiter? { places[head...].last { $0.waiter != nil }?.waiter }

    /// The waiters, in their order.
    var waiters: [Waiter] { places[head...].compactMap(\.waiter) }

    /// The ticket of the waiter whose turn is next.
    var firstTicket: UInt64? { isEmpty ? nil : places[head].ticket }

    mutating func append(_ waiter: Waiter) {
        places.append(Place(ticket: waiter.ticket, waiter: waiter))
        count += 1
    }

    mutating func popFirst() -> Waiter? {
        guard !isEmpty else { return nil }
        let waiter = places[head].waiter
        head += 1
        count -= 1
        skipLeft()
        return waiter
    }

    /// Removes a waiter from any place of the line.
    /// - Returns: Whether it was in line.
    mutating func remove(_ ticket: UInt64) -> Bool {
        var low = head
        var high = places.count
        while low < high {
            let middle = (low + high) / 2
            if places[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        guard low < places.count, places[low].ticket == ticket, places[low].waiter != nil else {
            return false
        }
        places[low].waiter = nil
        count -= 1
        skipLeft()
        // If the first waiter waits for long, waiters that have left must not occupy places.
        if places.count - head > 2 * count + 64 {
            places = places[head...].filter { $0.waiter != nil }
            head = 0
        }
        return true
    }

    // Keeps a waiter at the head; the places before it are removed in bulk.
    private mutating func skipLeft() {
        while head < places.count, places[head].waiter == nil { head += 1 }
        if head == places.count || head > 64, head * 2 >= places.count {
            places.removeFirst(head)
            head = 0
        }
    }
}

extension WaitingLine {
    /// Decides whether to report a line: if there was no report for ``Permits/newsInterval``.
    /// - Parameters:
    ///   - toldAt: The time of the last report; set to `now` if the method returns true.
    ///   - now: The current time.
    /// - Returns: Whether to report the line.
    static func isNews(_ toldAt: inout MonotonicInstant?, at now: MonotonicInstant) -> Bool {
        if let toldAt, toldAt.duration(to: now) < Permits.newsInterval { return false }
        toldAt = now
        return true
    }
}

extension Waiter {
    /// Waits for the turn, or until the task or the context is cancelled.
    /// - Parameters:
    ///   - context: The call's context.
    ///   - name: The name of the awaited permit, for the call's trace.
    ///   - phrase: The words in the error if a deadline passes during the wait.
    ///   - news: The report of the gate if a line begins.
    ///   - gate: The gate's name.
    ///   - tellGauges: Reports the number of waiting calls to the meter.
    ///   - leave: Removes the waiter from its line. Returns false if the turn has already come. The
    ///     inner gates then end the call.
    /// - Throws: `CancellationError`, or the error of the context's cancellation.
    func wait(
        in context: Context, for name: @autoclosure () -> String, atDeadline phrase: String? = nil,
        saying news: @autoclosure () -> String? = nil, by gate: String = "",
        gauges tellGauges: () -> Void = {},
        leave: @escaping @Sendable (Waiter) -> Bool
    ) async throws {
        let registration = context.onCancel { [self] reason in
            if leave(self) { turn.settle(.failure(reason.error)) }
        }
        defer { registration.end() }
        try await context.report(
            waitingFor: name(), atDeadline: phrase, saying: beginsLine ? news() : nil, by: gate,
            gauges: tellGauges
        ) { _ in
            try await turn.value { [self] in
                if leave(self) { turn.settle(.failure(CancellationError())) }
            }
        }
    }
}
