// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The origins that have room and a waiter, ordered by how long their first waiter has waited.
///
/// It is a binary heap. A stale entry stays in the heap and is skipped when it is popped, so that a
/// change of a line or a limit needs no search.
struct ReadyOrigins {
    private struct Entry {
        let origin: Origin
        let ticket: UInt64

        func isTrue(in shares: BoundedMap<Origin, OriginShare>) -> Bool {
            shares[origin]?.readyTicket == ticket
        }
    }

    private var heap: [Entry] = []
    private var sweepCount = Self.minSweepCount

    private static let minSweepCount = 64

    /// The number of entries, including stale ones.
    var count: Int { heap.count }

    /// Adds an origin, with the ticket of its first waiter.
    mutating func insert(
        _ origin: Origin, _ ticket: UInt64, in shares: BoundedMap<Origin, OriginShare>
    ) {
        if heap.count >= sweepCount { sweep(shares) }
        heap.append(Entry(origin: origin, ticket: ticket))
        var child = heap.count - 1
        while child > 0, heap[child].ticket < heap[(child - 1) / 2].ticket {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the origin whose waiter is next; nil if no waiter can start.
    mutating func popFirst(in shares: BoundedMap<Origin, OriginShare>) -> Origin? {
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

    // Runs when the heap is twice as large as after the last sweep, so that it costs little per
    // entry.
    private mutating func sweep(_ shares: BoundedMap<Origin, OriginShare>) {
        var seen: Set<UInt64> = []
        heap = heap.filter { $0.isTrue(in: shares) && seen.insert($0.ticket).inserted }
            // A sorted array is a heap.
            .sorted { $0.ticket < $1.ticket }
        sweepCount = max(Self.minSweepCount, 2 * heap.count)
    }
}
