// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Counts down.
package final class Countdown: Sendable {
    private let left: Mutex<Int>
    package init(_ count: Int) { left = Mutex(count) }
    package func takeOne() -> Bool {
        left.withLock { left in
            left -= 1
            return left >= 0
        }
    }
}
