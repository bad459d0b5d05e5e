/// What a call wishes of gates and transport: values under typed keys.
///
/// ```swift
/// try await client.get("slow").deadline(.seconds(90)).data()
/// ```
///
/// The gate of the client that is made for a key reads it. Where the stack has none, the call adds
/// the one that ``RequestOptionKey/gate(for:)`` names, outermost.
public struct RequestOptions: Sendable {
    private struct Entry {
        let id: ObjectIdentifier
        let value: any Sendable
        let gate: (@Sendable () -> (any Gate)?)
    }

    private var entries: [Entry] = []

    /// Creates options without a wish.
    public init() {}

    /// The value under a key, or nil where the call wishes nothing.
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
            entries.append(Entry(id: id, value: newValue) { Key.gate(for: newValue) })
        }
    }

    /// Whether there is no wish at all.
    public var isEmpty: Bool { entries.isEmpty }

    /// The gates for wishes that a stack which reads `handled` would pass over, outermost first.
    func gates(unless handled: Set<ObjectIdentifier>) -> [any Gate] {
        entries.compactMap { handled.contains($0.id) ? nil : $0.gate() }
    }
}

/// A key of ``RequestOptions``.
public protocol RequestOptionKey: SendableMetatype {
    /// The type of the value.
    associatedtype Value: Sendable

    /// The gate that honours the wish where the client's stack has none for this key.
    ///
    /// nil, the default, suits a key that a transport or a terminal reads.
    static func gate(for value: Value) -> (any Gate)?
}

extension RequestOptionKey {
    /// No gate.
    public static func gate(for value: Value) -> (any Gate)? { nil }
}

/// Whether the caller vouches that a request may be sent twice, though its method is not
/// idempotent; false where it must not be, whatever its method.
public enum RetryableOption: RequestOptionKey {
    /// The caller's word.
    public typealias Value = Bool
}

/// Whether the response lasts as long as its server likes, as an event stream does: a deadline then
/// covers what comes before it, and idle limits do not apply.
public enum StreamingOption: RequestOptionKey {
    /// The caller's word.
    public typealias Value = Bool
}

/// Whether what a request sends is good for one time, as a refresh token that rotates: the server
/// has taken it when it answers, and what follows it stands in the answer alone.
package enum OneTimeOption: RequestOptionKey {
    package typealias Value = Bool
}

extension RequestOptions {
    /// Whether what the request sends is good for one time.
    ///
    /// Nothing but its own exchange's end, and what its sender has set for it, ends such a request:
    /// gates' time limits and ``Client/cancelAll()`` let it be. It is sent again only where nothing
    /// of it was sent.
    package var isOneTime: Bool {
        get { self[OneTimeOption.self] ?? false }
        set { self[OneTimeOption.self] = newValue ? true : nil }
    }

    /// Whether the response lasts as long as its server likes.
    public var isStreaming: Bool {
        get { self[StreamingOption.self] ?? false }
        set { self[StreamingOption.self] = newValue }
    }

    /// Whether the caller vouches that the request may be sent twice.
    public var isRetryable: Bool {
        get { self[RetryableOption.self] ?? false }
        set { self[RetryableOption.self] = newValue }
    }
}
