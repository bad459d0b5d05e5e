package import TurnpikeCore

/// A call that waits for its turn.
package final class Waiter: Sendable {
    let ticket: UInt64
    package let turn = OneShot<Void>()

    package init(ticket: UInt64) { self.ticket = ticket }
}

/// Calls that wait for their turn, first come first served; any of them may leave.
///
/// Tickets grow from waiter to waiter, so that one is found by halving.
package struct WaitingLine {
    private struct Place {
        let ticket: UInt64
        var waiter: Waiter?
    }

    private var places: [Place] = []
    private var head = 0

    private(set) var count = 0

    /// How many places are kept, of those who have left too.
    package var placeCount: Int { places.count }

    package init() {}

    var isEmpty: Bool { count == 0 }

    /// The ticket of the one whose turn is next.
    package var firstTicket: UInt64? { isEmpty ? nil : places[head].ticket }

    package mutating func append(_ waiter: Waiter) {
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

    /// Takes a waiter out, wherever it stands.
    /// - Returns: Whether it was there.
    package mutating func remove(_ ticket: UInt64) -> Bool {
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
        // Those who leave from behind one who waits for long leave no places for good.
        if places.count - head > 2 * count + 64 {
            places = places[head...].filter { $0.waiter != nil }
            head = 0
        }
        return true
    }

    // The head is always one who waits; what lies before it is let go of in bulk.
    private mutating func skipLeft() {
        while head < places.count, places[head].waiter == nil { head += 1 }
        if head == places.count || head > 64, head * 2 >= places.count {
            places.removeFirst(head)
            head = 0
        }
    }
}

extension Waiter {
    /// Waits for the turn, but not beyond the end of the task or the context.
    /// - Parameters:
    ///   - context: The call's context.
    ///   - leave: Takes the waiter out of its line; false where its turn had come already, and the
    ///     call goes on to hear of its end further in.
    /// - Throws: `CancellationError`, or the error of the context's cancellation.
    func wait(in context: Context, leave: @escaping @Sendable (Waiter) -> Bool) async throws {
        let registration = context.onCancel { [self] reason in
            if leave(self) { turn.settle(.failure(reason.error)) }
        }
        defer { registration.end() }
        try await turn.value { [self] in
            if leave(self) { turn.settle(.failure(CancellationError())) }
        }
    }
}
