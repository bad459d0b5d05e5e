// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lines for a log that belong to no call; the next call that passes takes them along.
final class LogThrottle: Sendable {
    private let lines = Mutex<[String]>([])
    // Calls do not pay for the lock if there is nothing.
    private let isEmpty = Atomic(true)

    func add(_ line: String) {
        lines.withLock { lines in
            if lines.count < 4 { lines.append(line) }
            isEmpty.store(false, ordering: .relaxed)
        }
    }

    func take() -> [String] {
        if isEmpty.load(ordering: .relaxed) { return [] }
        return lines.withLock { lines in
            defer { lines = [] }
            isEmpty.store(true, ordering: .relaxed)
            return lines
        }
    }
}
