// SPDX-License-Identifier: Apache-2.0

/// The most of something in one call, and what bounds it.
public struct StackBound<Value: Sendable & Hashable>: Sendable, Hashable {
    /// How much at most.
    public enum Limit: Sendable, Hashable {
        /// So much.
        case atMost(Value)
        /// Nothing bounds it.
        case unbounded
        /// It depends on a gate that states no facts, or the stack is too long for bounds
        /// (`StackBounds.Extent.nothing`).
        case unknown
    }

    /// How much at most.
    public let limit: Limit
    /// The places of the gates without which the limit would be another, outermost first.
    ///
    /// Of a limit that is unbounded or unknown, they are the gates that make it so; if there is
    /// none, no gate bounds it. Empty for a stack of more than 100 gates
    /// (`StackBounds.Extent.limits`).
    public let places: [String]
    /// The limit of the framework that has a part in it, or nil: `12 sends, redirects apart`.
    public let framework: String?

    /// The value, if there is one.
    public var value: Value? { if case .atMost(let value) = limit { value } else { nil } }
}
