// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The share of one origin in the permits: its limit, the permits it holds, and its waiting calls.
struct OriginShare: LineEntry {
    var limit: Double
    var held = 0
    var line = WaitingLine()
    var mayShrinkFrom: MonotonicInstant?
    var probe: LatencyProbe?
    /// The time of the last report that calls wait because of the limit of this origin.
    var toldAt: MonotonicInstant?

    var isInUse: Bool { held > 0 || !line.isEmpty }
    var hasRoom: Bool { held < Int(limit) }

    /// The place among all origins of the waiter that is next, as ``Permits`` last noted it.
    var noted: WaitingLine.Place?

    /// The place among all origins of the waiter that is next, if there is room for it.
    ///
    /// Rounds count within a line. A waiter that is overdue holds up those of its line, so its place is
    /// that of the highest class.
    var next: WaitingLine.Place? {
        guard hasRoom, let first = line.first else { return nil }
        return WaitingLine.Place(
            rank: WaitingLine.Rank(
                level: line.isOverdue ? 0 : first.rank.level, ticket: first.rank.ticket),
            waiter: first.waiter)
    }
}
