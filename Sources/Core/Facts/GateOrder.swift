// SPDX-License-Identifier: Apache-2.0

/// Where a gate must stand, by its own account.
public struct GateOrder: Sendable {
    /// Where the gate stands in relation to others.
    public enum Relation: Sendable, Hashable {
        /// Nearer to the caller than every gate of the kind, if there is one.
        case outside
        /// Nearer to the transport than every gate of the kind, if there is one.
        case inside
        /// Nearer to the caller than a gate of the kind, which must be there.
        case outsideOfPresent
        /// Nearer to the transport than a gate of the kind, which must be there.
        case insideOfPresent
    }

    /// The relation.
    public let relation: Relation
    /// The kind of the other gates.
    public let kind: GateKind
    /// What goes wrong otherwise, as a sentence.
    public let reason: String

    /// Creates an order.
    public init(_ relation: Relation, _ kind: GateKind, because reason: String) {
        self.relation = relation
        self.kind = kind
        self.reason = reason
    }
}
