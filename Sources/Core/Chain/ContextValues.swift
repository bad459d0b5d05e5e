import Synchronization

/// How long a value in a ``Context`` lives.
public enum ContextScope: Sendable {
    /// For the whole call: all attempts see the value.
    case call
    /// For one attempt: a new attempt starts with the default.
    case attempt
}

/// A key of a ``Context``.
public protocol ContextKey {
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

/// The values of one scope.
struct ContextValues: ~Copyable, Sendable {
    private let values = Mutex<[ObjectIdentifier: any Sendable]>([:])

    // Not generic, so that it is compiled only once.
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
