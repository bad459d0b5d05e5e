// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Log lines that belong to no call.
///
/// The next call that passes writes them.
final class LogThrottle: Sendable {
    private let lines = Mutex<[String]>([])
    // Calls need no lock if there are no lines.
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
