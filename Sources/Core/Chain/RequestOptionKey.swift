// SPDX-License-Identifier: Apache-2.0

/// A key of ``RequestOptions`` that gates read.
///
/// If the stack of a call has no gate that handles the key (``Gate/handledOptions``), the call adds
/// the gate of ``gate(for:)``.
public protocol RequestOptionKey: OptionKey {
    // The compiler infers the type from `gate(for:)` only if this protocol declares the type again.
    /// The type of the value.
    associatedtype Value

    /// Returns the gate that applies the option if the client's stack has no gate for this key.
    ///
    /// The default is nil, for a key that needs no gate.
    static func gate(for value: Value) -> (any Gate)?

    /// The place of the gate of ``gate(for:)``; ``GatePlace/outermost`` by default.
    static var gatePlace: GatePlace { get }
}

extension RequestOptionKey {
    /// Returns nil by default.
    public static func gate(for value: Value) -> (any Gate)? { nil }

    /// Outermost, by default.
    public static var gatePlace: GatePlace { .outermost }

    fileprivate static func gate(forAny value: any Sendable) -> (any Gate)? {
        (value as? Value).flatMap { gate(for: $0) }
    }
}

extension RequestOptions {
    func gates(at place: GatePlace, unless handled: Set<ObjectIdentifier>) -> [any Gate] {
        entries.compactMap { entry in
            guard !handled.contains(entry.id), let key = entry.key as? any RequestOptionKey.Type,
                key.gatePlace == place
            else { return nil }
            return key.gate(forAny: entry.value)
        }
    }
}

/// The place of a gate that a call adds for an option, if the stack has no gate for the option
/// (``RequestOptionKey/gatePlace``).
public enum GatePlace: Sendable, Hashable {
    /// Outside all gates of the client, where the gate handles each call once.
    case outermost
    /// Inside all other gates, where the gate handles each send.
    case innermost
}
