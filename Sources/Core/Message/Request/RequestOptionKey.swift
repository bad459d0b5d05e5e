// SPDX-License-Identifier: Apache-2.0

/// A key of ``RequestOptions``.
public protocol RequestOptionKey: SendableMetatype {
    /// The type of the value.
    associatedtype Value: Sendable

    /// Returns the gate that applies the option if the client's stack has none for this key.
    ///
    /// The default nil suits a key that a transport or a serializer reads.
    static func gate(for value: Value) -> (any Gate)?

    /// Where that gate stands; ``GatePlace/outermost`` by default.
    static var gatePlace: GatePlace { get }
}

extension RequestOptionKey {
    /// Returns nil.
    public static func gate(for value: Value) -> (any Gate)? { nil }

    /// The default is outermost.
    public static var gatePlace: GatePlace { .outermost }
}
