import TurnpikeCore

/// The origins that have room and somebody waiting, in the order of who has waited for longest.
///
/// A binary heap. Entries are not taken out when they become untrue, but passed over when their turn
/// comes, so that no change of a line or a limit costs a search.
struct ReadyOrigins {
    private struct Entry {
        let origin: Origin
        let ticket: UInt64

        func isTrue(in shares: OriginMap<OriginShare>) -> Bool {
            shares[origin]?.readyTicket == ticket
        }
    }

    private var heap: [Entry] = []
    private var sweepCount = Self.minSweepCount

    private static let minSweepCount = 64

    /// How many entries there are, true or not.
    var count: Int { heap.count }

    /// Adds an origin, whose next waiter has a ticket.
    mutating func insert(
        _ origin: Origin, _ ticket: UInt64, in shares: OriginMap<OriginShare>
    ) {
        if heap.count >= sweepCount { sweep(shares) }
        heap.append(Entry(origin: origin, ticket: ticket))
        var child = heap.count - 1
        while child > 0, heap[child].ticket < heap[(child - 1) / 2].ticket {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes out the origin whose waiter is next; nil if nobody can go.
    mutating func popFirst(in shares: OriginMap<OriginShare>) -> Origin? {
        while let first = heap.first {
            removeFirst()
            if first.isTrue(in: shares) { return first.origin }
        }
        return nil
    }

    private mutating func removeFirst() {
        let last = heap.removeLast()
        if heap.isEmpty { return }
        heap[0] = last
        var parent = 0
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].ticket < heap[first].ticket { first = child }
            }
            if first == parent { return }
            heap.swapAt(parent, first)
            parent = first
        }
    }

    // What is not true any more goes when it is half of all, and so costs each entry little.
    private mutating func sweep(_ shares: OriginMap<OriginShare>) {
        var seen: Set<UInt64> = []
        heap = heap.filter { $0.isTrue(in: shares) && seen.insert($0.ticket).inserted }
            // An array in order is a heap.
            .sorted { $0.ticket < $1.ticket }
        sweepCount = max(Self.minSweepCount, 2 * heap.count)
    }
}
