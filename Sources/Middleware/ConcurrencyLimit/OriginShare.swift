// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The share of one origin in the permits: its limit, the permits it holds, and its waiting calls.
struct OriginShare: OriginEntry {
    var limit: Double
    var held = 0
    var line = WaitingLine()
    var mayShrinkFrom: MonotonicInstant?
    var probe: LatencyProbe?
    /// The time of the last report that calls wait because of the limit of this origin.
    var toldAt: MonotonicInstant?

    var isInUse: Bool { held > 0 || !line.isEmpty }
    var hasRoom: Bool { held < Int(limit) }

    /// The ticket of the first waiter, if the origin's limit lets it start.
    var readyTicket: UInt64? { hasRoom ? line.firstTicket : nil }
}
