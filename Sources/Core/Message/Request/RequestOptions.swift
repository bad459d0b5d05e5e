// SPDX-License-Identifier: Apache-2.0

/// The options of a call for gates and the transport: values with typed keys.
///
/// ```swift
/// try await client.get("slow").deadline(.seconds(90)).data()
/// ```
///
/// A gate that handles a key reads its value. If the stack has no such gate, the call adds the gate
/// of ``RequestOptionKey/gate(for:)`` at ``RequestOptionKey/gatePlace``.
public struct RequestOptions: Sendable {
    private struct Entry {
        let id: ObjectIdentifier
        let value: any Sendable
        let place: GatePlace
        let gate: (@Sendable () -> (any Gate)?)
    }

    private var entries: [Entry] = []

    /// Creates empty options.
    public init() {}

    /// The value of a key, or nil if the call does not set it.
    public subscript<Key: RequestOptionKey>(key: Key.Type) -> Key.Value? {
        get {
            if entries.isEmpty { return nil }
            let id = ObjectIdentifier(key)
            return entries.first { $0.id == id }?.value as? Key.Value
        }
        set {
            let id = ObjectIdentifier(key)
            entries.removeAll { $0.id == id }
            guard let newValue else { return }
            entries.append(
                Entry(id: id, value: newValue, place: Key.gatePlace) { Key.gate(for: newValue) })
        }
    }

    /// Whether no option is set.
    public var isEmpty: Bool { entries.isEmpty }

    /// The gates at a place for options that a stack handling `handled` would ignore, outermost
    /// first.
    func gates(at place: GatePlace, unless handled: Set<ObjectIdentifier>) -> [any Gate] {
        entries.compactMap { entry in
            entry.place == place && !handled.contains(entry.id) ? entry.gate() : nil
        }
    }
}
