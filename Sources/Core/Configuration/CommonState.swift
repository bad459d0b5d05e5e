// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Objects that all stacks of one registry share: one for each key, for the lifetime of the
/// registry.
final class CommonState: Sendable {
    private let values = Mutex<[String: any AnyObject & Sendable]>([:])

    func value<State: AnyObject & Sendable>(_ key: String, _ make: () -> State) -> State {
        values.withLock { values in
            if let known = values[key] as? State { return known }
            let new = make()
            values[key] = new
            return new
        }
    }
}
