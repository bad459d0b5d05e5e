// SPDX-License-Identifier: Apache-2.0

/// A value that its copies share until one of them is changed: passing it on costs one pointer,
/// and changing it copies once.
@propertyWrapper
struct CopyOnWrite<Value: Sendable>: Sendable {
    // SAFETY: the box is changed only through a `CopyOnWrite` that holds the only reference to it,
    // so the exclusive access to that value extends to the box.
    private final class Box: @unchecked Sendable {
        @exclusivity(unchecked) private var kept: Value

        init(_ value: Value) { unsafe kept = value }

        var value: Value {
            _read { yield unsafe kept }
            _modify { yield unsafe &kept }
        }
    }

    private var box: Box

    init(wrappedValue: Value) { box = Box(wrappedValue) }

    var wrappedValue: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}
