import Synchronization

/// How long a value in a ``Context`` lives.
public enum ContextScope: Sendable {
    /// As long as the call: all attempts see it.
    case call
    /// As long as the attempt: a fresh attempt begins with the default.
    case attempt
}

/// A key of a ``Context``.
public protocol ContextKey {
    /// The type of the value.
    associatedtype Value: Sendable

    /// The value before one is set.
    static var defaultValue: Value { get }

    /// How long a value lives; ``ContextScope/call`` where a key does not say.
    static var scope: ContextScope { get }
}

extension ContextKey {
    /// The call.
    public static var scope: ContextScope { .call }
}

/// The values of one scope.
struct ContextValues: ~Copyable, Sendable {
    private let values = Mutex<[ObjectIdentifier: any Sendable]>([:])

    // Not generic, so that what is made here need not be made anew where a key is named.
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
