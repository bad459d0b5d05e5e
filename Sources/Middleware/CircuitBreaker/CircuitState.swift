/// What a circuit does with calls.
public enum CircuitState: String, Hashable, Sendable, CaseIterable {
    /// It lets all of them through and counts failures.
    case closed
    /// It refuses all of them.
    case open
    /// It lets a few probes through, whose ends decide.
    case halfOpen
}
