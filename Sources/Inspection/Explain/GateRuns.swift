// SPDX-License-Identifier: Apache-2.0

/// How often a gate sees a call.
public enum GateRuns: String, Sendable, Hashable, CaseIterable {
    /// Once.
    case perCall = "once per call"
    /// Once for each redirect, and for the last response.
    case perHop = "for each hop"
    /// Once for each attempt.
    case perAttempt = "for each attempt"
    /// Once for each attempt of each hop.
    case perAttemptOfHop = "for each attempt of each hop"
    /// Once, and again for each replay: a gate further out may send again in the same pass, for
    /// example with new credentials after a 401.
    case perCallAndReplay = "once per call, and for each replay"
    /// Once for each hop, and again for each replay.
    case perHopAndReplay = "for each hop, and for each replay"
    /// Once for each attempt, and again for each replay.
    case perAttemptAndReplay = "for each attempt, and for each replay"
    /// Once for each attempt of each hop, and again for each replay.
    case perAttemptOfHopAndReplay = "for each attempt of each hop, and for each replay"
    /// A gate further out does not state whether it sends again.
    case unknown = "unknown how often"
}
