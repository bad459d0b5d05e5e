// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import TurnpikeSupport

/// The sinks of the process, whose queued lines are written when it exits.
///
/// The C library calls ``flush()`` on the thread that exits (`atexit`), while the threads of the
/// queues still run.
enum SinksAtExit {
    private struct Entry {
        weak var sink: LineSink?
    }

    private static let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    // The process in which the flush is registered, once.
    private static let process: pid_t = {
        atexit { SinksAtExit.flush() }
        return getpid()
    }()

    /// The longest time that an exit waits for all sinks together.
    private static let limit: Duration = .seconds(5)

    static func add(_ sink: LineSink) {
        _ = process
        entries.withLock { $0[ObjectIdentifier(sink)] = Entry(sink: sink) }
    }

    static func remove(_ sink: LineSink) {
        _ = entries.withLock { $0.removeValue(forKey: ObjectIdentifier(sink)) }
    }

    /// Writes the lines of all sinks, or gives up after the limit.
    private static func flush() {
        // A child of `fork` has copies of the queues, but not their threads; its parent writes.
        guard getpid() == process else { return }
        let start = DispatchTime.now()
        // All begin before the first is waited for, so that one limit counts for all.
        let flushes = sinks().map { $0.flushAtExit() }
        for (end, limit) in flushes {
            let limit = min(limit, Self.limit).wholeNanoseconds
            _ = end.wait(timeout: start + .nanoseconds(Int(limit)))
        }
    }

    // The thread that exits may hold the lock, if a signal has interrupted it.
    private static func sinks() -> [LineSink] {
        for _ in 0..<100 {
            let sinks = entries.withLockIfAvailable { $0.values.compactMap(\.sink) }
            if let sinks { return sinks }
            usleep(1000)
        }
        return []
    }
}
