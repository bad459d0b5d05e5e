import Turnpike
import TurnpikeCore

/// How long the parts of a call took, as `-v` shows them.
enum SendTimes {
    /// Returns the line for a call that has ended, or nil if nothing was sent.
    static func line(_ timeline: Timeline, until end: MonotonicInstant) -> String? {
        guard let sent = timeline.sent else { return nil }
        var parts: [String] = []
        if let peer = timeline.peerAddress {
            let reused = timeline.isConnectionReused == true ? ", connection reused" : ""
            parts.append(peer + reused)
        }
        var before = sent
        let steps = [
            ("DNS", timeline.resolved), ("connect", timeline.connected), ("TLS", timeline.secured),
            ("first byte", timeline.firstByte ?? timeline.head), ("content", timeline.bodyEnd),
        ]
        for (name, instant) in steps {
            guard let instant else { continue }
            parts.append("\(name) \(milliseconds(before.duration(to: instant)))")
            before = instant
        }
        let total = (timeline.start ?? sent).duration(to: timeline.bodyEnd ?? end)
        return (["\(timeline.bodyBytesReceived) bytes in \(milliseconds(total))"] + parts)
            .joined(separator: ", ")
    }

    private static func milliseconds(_ duration: Duration) -> String {
        "\((duration / .microseconds(100)).rounded() / 10) ms"
    }
}
