// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The share of one origin in the permits: its limit, the permits it holds, and its waiting calls.
struct OriginShare: BoundedMapEntry {
    var limit: Double
    var held = 0
    var line = WaitingLine()
    var mayShrinkFrom: MonotonicInstant?
    var probe: LatencyProbe?
    /// The time of the last report that calls wait because of the limit of this origin.
    var toldAt: MonotonicInstant?

    var isInUse: Bool { held > 0 || !line.isEmpty }
    var hasRoom: Bool { held < Int(limit) }

    /// The ticket of the first waiter, if there is room for it.
    var readyTicket: UInt64? { hasRoom ? line.firstTicket : nil }
}
