// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// What a gate does to a request.
public struct GateExplanation: Sendable {
    /// Whether a gate does something to the request.
    public enum Status: Sendable, Hashable {
        /// It does what its facts say.
        case applies
        /// It passes the request on untouched; the reason completes "because".
        case passedOver(String)
        /// Its group does not apply to the request; the reason completes "because".
        case skipped(String)
        /// It states no facts.
        case unknown
    }

    /// Where it stands: `3`, or `3.1` in a group.
    public let place: String
    /// Its name.
    public let name: String
    /// How often it sees the call.
    public let runs: GateRuns
    /// Whether it does something to the request.
    public let status: Status
    /// Whether that may be otherwise for what a gate further out makes of the request: a redirect,
    /// for example, may turn a POST into a GET.
    public let mayChange: Bool
    /// What it does, as the end of a sentence that begins with its name; nil if it states no facts.
    public let summary: String?
    /// What it does, for programs; empty if it states no facts.
    public let effects: [GateEffect]
    /// The header fields that it sets, with secrets redacted.
    ///
    /// The value is empty where only a call decides it.
    public let fields: [(name: String, value: String)]
    /// The gates of a group, outermost first.
    public let gates: [GateExplanation]

    /// The gate and those of its group.
    var flattened: [GateExplanation] { [self] + gates.flatMap(\.flattened) }

    /// Whether the gate does something to the request.
    var isActive: Bool {
        switch status {
        case .applies, .unknown: true
        case .passedOver, .skipped: mayChange
        }
    }
}
