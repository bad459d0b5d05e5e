// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Keeps the latest lines in memory, for tests.
public final class MemoryLogSink: LogSink {
    private let kept = Mutex<[String]>([])
    private let capacity: Int

    /// Creates a sink.
    /// - Parameter capacity: How many lines are kept.
    public init(capacity: Int = 10_000) { self.capacity = capacity }

    /// The lines, oldest first.
    public var lines: [String] { kept.withLock { $0 } }

    /// Keeps a line.
    public func write(_ line: String) {
        kept.withLock { kept in
            kept.append(line)
            if kept.count > capacity { kept.removeFirst() }
        }
    }

    /// Returns at once.
    public func flush() async {}
}
