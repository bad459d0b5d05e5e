// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// What a meter is told after a turn.
struct Figures {
    var commands = 0
    var failures = 0
    var connects = 0
    var connections = 0

    private static let help = [
        "turnpike.valkey.commands": "Commands to Valkey or Redis.",
        "turnpike.valkey.failures":
            "Commands to Valkey or Redis that got no reply: no connection, no time or no room.",
        "turnpike.valkey.connects": "Connections to Valkey or Redis that were made.",
        "turnpike.valkey.connections": "Open connections to Valkey or Redis.",
    ]

    static func describe(to meter: any GateMeter) {
        for (name, text) in help { meter.describe(name, as: text) }
        // They exist before anything is counted, so that an alert sees the first failure as a change.
        for name in ["commands", "failures", "connects"] {
            meter.add(0, to: "turnpike.valkey." + name, labels: [:])
        }
    }

    /// Returns what has changed since the last time, or nil.
    mutating func take() -> Figures? {
        if commands == 0, failures == 0, connects == 0, connections == 0 { return nil }
        defer { self = Figures() }
        return self
    }

    /// Tells a meter what has changed.
    func tell(_ meter: any GateMeter) {
        if commands > 0 { meter.add(Double(commands), to: "turnpike.valkey.commands", labels: [:]) }
        if failures > 0 { meter.add(Double(failures), to: "turnpike.valkey.failures", labels: [:]) }
        if connects > 0 { meter.add(Double(connects), to: "turnpike.valkey.connects", labels: [:]) }
        if connections != 0 {
            meter.change("turnpike.valkey.connections", by: Double(connections), labels: [:])
        }
    }
}
