// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A key of a ``Context``.
public protocol ContextKey: SendableMetatype {
    /// The type of the value.
    associatedtype Value: Sendable

    /// The value of the key if no gate has set a value.
    static var defaultValue: Value { get }

    /// How long a value is stored; ``ContextScope/call`` by default.
    static var scope: ContextScope { get }
}

extension ContextKey {
    /// The whole call, by default.
    public static var scope: ContextScope { .call }
}

/// How long a value in a ``Context`` is stored.
public enum ContextScope: Sendable {
    /// For the whole call: all attempts have the same value.
    case call
    /// For one attempt: a new attempt begins with the default value.
    case attempt
}

struct ContextValues: ~Copyable, Sendable {
    private let values = Mutex<[ObjectIdentifier: any Sendable]>([:])

    // This subscript is not generic, and is therefore compiled only once.
    subscript(id: ObjectIdentifier) -> (any Sendable)? {
        get { values.withLock { $0.isEmpty ? nil : $0[id] } }
        nonmutating set { values.withLock { $0[id] = newValue } }
    }

    func value<Value: Sendable>(under id: ObjectIdentifier, orSetting fresh: Value) -> Value {
        values.withLock { values in
            if let present = values[id] as? Value { return present }
            values[id] = fresh
            return fresh
        }
    }
}

enum CollectLimit: ContextKey {
    static var defaultValue: Int { 104_857_600 }
}

enum LineLimit: ContextKey {
    static var defaultValue: Int { 1_048_576 }
}

extension Context {
    /// The maximum content bytes that the call collects in memory; by default 100 MiB.
    ///
    /// A serializer gets this limit as ``SerializationContext/maxBytes``.
    public var maxBytes: Int {
        get { self[CollectLimit.self] }
        set { self[CollectLimit.self] = newValue }
    }

    /// The maximum bytes of a line, item or event of a stream; by default 1 MiB.
    ///
    /// A serializer gets this limit as ``SerializationContext/maxLineBytes``.
    public var maxLineBytes: Int {
        get { self[LineLimit.self] }
        set { self[LineLimit.self] = newValue }
    }
}
