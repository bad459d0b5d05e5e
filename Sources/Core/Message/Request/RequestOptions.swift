// SPDX-License-Identifier: Apache-2.0

/// The options of a call for gates and the transport, as values with typed keys.
///
/// ```swift
/// try await client.get("slow").deadline(.seconds(90)).data()
/// ```
///
/// A gate reads the values of the keys that the gate handles. If no gate of the stack handles a
/// key, the call adds the gate that the key returns (``RequestOptionKey``).
public struct RequestOptions: Sendable {
    struct Entry {
        let key: any OptionKey.Type
        let value: any Sendable

        var id: ObjectIdentifier { ObjectIdentifier(key) }
    }

    private(set) var entries: [Entry] = []

    /// Creates empty options.
    public init() {}

    /// The value of a key, or nil if the call does not set the key.
    public subscript<Key: OptionKey>(key: Key.Type) -> Key.Value? {
        get {
            if entries.isEmpty { return nil }
            let id = ObjectIdentifier(key)
            return entries.first { $0.id == id }?.value as? Key.Value
        }
        set {
            let id = ObjectIdentifier(key)
            entries.removeAll { $0.id == id }
            guard let newValue else { return }
            entries.append(Entry(key: key, value: newValue))
        }
    }

    /// Whether no option is set.
    public var isEmpty: Bool { entries.isEmpty }
}

/// A key of ``RequestOptions`` that a transport or a serializer reads.
///
/// If a gate reads the value, the key must be a ``RequestOptionKey``.
public protocol OptionKey: SendableMetatype {
    /// The type of the value.
    associatedtype Value: Sendable
}

/// Whether the request may (true) or must not (false) be sent twice, with any method.
public enum RetryableOption: OptionKey {
    /// The decision of the caller.
    public typealias Value = Bool
}

extension RequestOptions {
    /// Whether the caller allows the request to be sent twice.
    public var isRetryable: Bool {
        get { self[RetryableOption.self] ?? false }
        set { self[RetryableOption.self] = newValue }
    }
}

enum StreamingOption: OptionKey {
    typealias Value = Bool
}

extension RequestOptions {
    /// Whether the response body may have any duration.
    public var isStreaming: Bool {
        get { self[StreamingOption.self] ?? false }
        set { self[StreamingOption.self] = newValue }
    }
}

enum OneTimeOption: OptionKey {
    typealias Value = Bool
}

extension RequestOptions {
    /// Whether the content of the request is valid only for one use.
    ///
    /// If true, time limits of gates and ``Client/cancelAll()`` do not end the request. Only the
    /// end of the exchange and the limits of the sender end the request. The request is sent again
    /// only if no byte of the request was sent.
    public var isOneTime: Bool {
        get { self[OneTimeOption.self] ?? false }
        set { self[OneTimeOption.self] = newValue ? true : nil }
    }
}
