import TurnpikeCore

/// What one origin may have of the permits, has, and is asked for.
struct OriginShare: OriginEntry {
    var limit: Double
    var held = 0
    var line = WaitingLine()
    var mayShrinkFrom: MonotonicInstant?

    var isInUse: Bool { held > 0 || !line.isEmpty }
    var hasRoom: Bool { held < Int(limit) }

    /// The ticket of the one who is next, if there is room.
    var readyTicket: UInt64? { hasRoom ? line.firstTicket : nil }
}
