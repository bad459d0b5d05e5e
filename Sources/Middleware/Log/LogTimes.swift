// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The part of a log line about the connection and the duration of each phase, at level debug.
struct LogTimes {
    private let timeline: Timeline

    /// - Returns: nil if the transport reported no times.
    init?(_ timeline: Timeline) {
        guard timeline.sent != nil else { return nil }
        self.timeline = timeline
    }

    /// For a line of text.
    var text: String {
        var parts: [String] = []
        if let version = timeline.protocolVersion { parts.append("HTTP/\(version)") }
        if let peer = timeline.peerAddress { parts.append(peer) }
        if let isReused = timeline.isConnectionReused {
            parts.append(isReused ? "reused" : "new")
        }
        parts += timeline.phases.map(\.text)
        return parts.isEmpty ? "" : " | " + parts.joined(separator: ", ")
    }

    /// For a JSON line; durations are in seconds.
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
        let times = timeline.phases.map { ($0.name, LogRecord.seconds($0.duration)) }
        if !times.isEmpty { members.append(("times", .object(JSONObject(times)))) }
        return members
    }
}
