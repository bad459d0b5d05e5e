// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport
import TurnpikeTraffic

/// The permits of a shared quota that a replica has reserved, in the order of due times.
struct ReservedPermits {
    // The permits of one answer. The permits from `next` to `end` are unused.
    private struct Grant {
        var next = 0
        var end: Int
        /// The number of permits of this answer that were due at the arrival of the answer.
        let ready: Int
        let base: Int64
        let offsets: [Double]
    }

    private var grants: [Grant] = []
    private var head = 0
    private let intervals: [Double]
    // A call never waits for more permits than the burst.
    private let burst: Int

    private(set) var count = 0

    init(_ rules: [QuotaRule]) {
        intervals = rules.intervals
        burst = rules.burst
    }

    var isEmpty: Bool { count == 0 }

    /// Adds the permits of an answer.
    mutating func add(_ answer: QuotaGrant, at now: Int64) {
        guard answer.permits > 0 else { return }
        let permits = min(answer.permits, 1 << 40)
        let offsets = answer.offsets.map { Double($0.wholeNanoseconds) }
        let ready = zip(offsets, intervals).reduce(Double(permits)) { ready, rule in
            min(ready, rule.0 > 0 ? 0 : (-rule.0 / rule.1).rounded(.down) + 1)
        }
        grants.append(Grant(end: permits, ready: Int(ready), base: now, offsets: offsets))
        count += permits
    }

    mutating func take(_ cost: Int, at now: Int64) -> Bool {
        guard cost <= count else { return false }
        if grants[head].next + cost <= min(grants[head].ready, grants[head].end) {
            grants[head].next += cost
        } else {
            guard let due = due(of: cost), due <= now else { return false }
            drop(cost)
        }
        count -= cost
        if grants[head].next >= grants[head].end { skipUsed() }
        return true
    }

    /// Returns the due time of a call's permits behind `permits` permits, or nil without enough
    /// permits.
    func due(of cost: Int, behind permits: Int = 0) -> Int64? {
        guard permits <= count, cost <= count - permits else { return nil }
        var rank = permits + max(min(cost, burst), 1) - 1
        for grant in grants[head...] {
            if rank < grant.end - grant.next { return due(grant, grant.next + rank) }
            rank -= grant.end - grant.next
        }
        return nil
    }

    var lastDue: Int64? { grants.last.map { due($0, $0.end - 1) } }

    /// Removes permits from the end, and returns the number of removed permits.
    mutating func removeLast(_ permits: Int) -> Int {
        let removed = min(max(permits, 0), count)
        var left = removed
        while left > 0, let last = grants.indices.last {
            let part = min(left, grants[last].end - grants[last].next)
            grants[last].end -= part
            left -= part
            if grants[last].next >= grants[last].end { grants.removeLast() }
        }
        count -= removed
        if count == 0 { removeAll() }
        return removed
    }

    private mutating func removeAll() {
        grants.removeAll(keepingCapacity: true)
        head = 0
    }

    private mutating func drop(_ permits: Int) {
        var left = permits
        for index in grants.indices.dropFirst(head) where left > 0 {
            let part = min(left, grants[index].end - grants[index].next)
            grants[index].next += part
            left -= part
        }
    }

    private mutating func skipUsed() {
        while head < grants.count, grants[head].next >= grants[head].end { head += 1 }
        if head == grants.count {
            removeAll()
        } else if head > 16 {
            grants.removeFirst(head)
            head = 0
        }
    }

    private func due(_ grant: Grant, _ permit: Int) -> Int64 {
        if permit < grant.ready { return grant.base }
        var due = 0.0
        for index in grant.offsets.indices where index < intervals.count {
            due = max(due, grant.offsets[index] + Double(permit) * intervals[index])
        }
        return grant.base.addingSaturating(Int64(nanoseconds: due.rounded(.up)))
    }
}
