/// What a gate writes into header fields.
public enum GateFieldContent: Sendable, Hashable {
    /// What is no secret.
    case plain
    /// A secret; `isBound` tells whether it goes only to origins that the gate knows.
    case secret(isBound: Bool)
}
