// SPDX-License-Identifier: Apache-2.0

/// A key of ``RequestOptions`` that gates read.
///
/// If the stack of a call has no gate that handles the key (``Gate/handledOptions``), the call adds
/// the gate of ``gate(for:)``.
public protocol RequestOptionKey: OptionKey {
    // Declared again, so that the compiler infers it from `gate(for:)`.
    /// The type of the value.
    associatedtype Value

    /// Returns the gate that applies the option if the client's stack has no gate for this key.
    ///
    /// The default is nil, for a key without a gate of its own.
    static func gate(for value: Value) -> (any Gate)?

    /// The place of the gate of ``gate(for:)``; ``GatePlace/outermost`` by default.
    static var gatePlace: GatePlace { get }
}

extension RequestOptionKey {
    /// Returns nil.
    public static func gate(for value: Value) -> (any Gate)? { nil }

    /// The default is outermost.
    public static var gatePlace: GatePlace { .outermost }

    fileprivate static func gate(forAny value: any Sendable) -> (any Gate)? {
        (value as? Value).flatMap { gate(for: $0) }
    }
}

extension RequestOptions {
    /// The gates at a place for the options that are not in `handled`, outermost first.
    func gates(at place: GatePlace, unless handled: Set<ObjectIdentifier>) -> [any Gate] {
        entries.compactMap { entry in
            guard !handled.contains(entry.id), let key = entry.key as? any RequestOptionKey.Type,
                key.gatePlace == place
            else { return nil }
            return key.gate(forAny: entry.value)
        }
    }
}

/// The place of a gate that a call adds for an option without a gate in the stack
/// (``RequestOptionKey/gatePlace``).
public enum GatePlace: Sendable, Hashable {
    /// Outside of all gates of the client, so that the gate sees the call once.
    case outermost
    /// Next to the transport, inside all other gates, so that the gate sees each send.
    case innermost
}
