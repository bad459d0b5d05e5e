// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Counts down.
final class Countdown: Sendable {
    private let left: Mutex<Int>
    init(_ count: Int) { left = Mutex(count) }
    func takeOne() -> Bool {
        left.withLock { left in
            left -= 1
            return left >= 0
        }
    }
}
