// SPDX-License-Identifier: Apache-2.0

/// A value that is handed to one thread.
// SAFETY: whoever creates the box gives the value to a new thread, and does not use it afterwards.
struct UncheckedBox<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
