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
    /// A gate further out does not state whether it sends again.
    case unknown = "unknown how often"
}
