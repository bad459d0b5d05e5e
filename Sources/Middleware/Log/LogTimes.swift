import TurnpikeCore

/// What a log line says, at level debug, about the connection and the times of its events.
struct LogTimes {
    private let timeline: Timeline
    private let spans: [(name: String, time: Duration)]

    /// - Returns: nil if the transport reported no times.
    init?(_ timeline: Timeline) {
        guard let sent = timeline.sent else { return nil }
        self.timeline = timeline
        let instants = [
            ("resolved", timeline.resolved), ("connected", timeline.connected),
            ("secured", timeline.secured), ("ready", timeline.ready),
            ("firstByte", timeline.firstByte), ("head", timeline.head),
        ]
        spans = instants.compactMap { name, instant in
            instant.map { (name, sent.duration(to: $0)) }
        }
    }

    /// For a line of text.
    var text: String {
        var parts: [String] = []
        if let version = timeline.protocolVersion { parts.append("HTTP/\(version)") }
        if let peer = timeline.peerAddress { parts.append(peer) }
        if let isReused = timeline.isConnectionReused {
            parts.append(isReused ? "reused" : "new")
        }
        parts += spans.map { "\($0.name) \(LogRecord.milliseconds($0.time))" }
        return parts.isEmpty ? "" : " | " + parts.joined(separator: ", ")
    }

    /// For a JSON line; times are in seconds since the request was sent.
    var members: [(String, JSONValue)] {
        var members: [(String, JSONValue)] = []
        if let version = timeline.protocolVersion { members.append(("version", .string(version))) }
        if let peer = timeline.peerAddress { members.append(("peer", .string(peer))) }
        if let isReused = timeline.isConnectionReused {
            members.append(("reused", .bool(isReused)))
        }
        if let bytes = timeline.encodedBodyBytes {
            members.append(("encodedBytes", .number(JSONNumber(bytes))))
        }
        let times = spans.map { ($0.name, LogRecord.seconds($0.time)) }
        if !times.isEmpty { members.append(("times", .object(JSONObject(times)))) }
        return members
    }
}
