// SPDX-License-Identifier: Apache-2.0

import Synchronization

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
