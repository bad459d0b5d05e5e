// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The CPU time of the current thread.
///
/// It excludes other threads and processes, so tests can compare it.
package enum ThreadTime {
    /// The CPU time of the thread since it started.
    package static var now: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// Runs a synchronous body and measures its CPU time.
    package static func of<Value>(
        _ body: () throws -> Value
    ) rethrows -> (value: Value, time: Duration) {
        let begin = now
        let value = try body()
        return (value, now - begin)
    }
}
