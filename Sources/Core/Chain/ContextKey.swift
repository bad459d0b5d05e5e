// SPDX-License-Identifier: Apache-2.0

/// A key of a ``Context``.
public protocol ContextKey: SendableMetatype {
    /// The type of the value.
    associatedtype Value: Sendable

    /// The value if none was set.
    static var defaultValue: Value { get }

    /// How long a value lives; ``ContextScope/call`` by default.
    static var scope: ContextScope { get }
}

extension ContextKey {
    /// The default scope is the call.
    public static var scope: ContextScope { .call }
}
