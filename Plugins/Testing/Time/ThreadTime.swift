#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The time for which the present thread has worked: what other threads and processes do meanwhile
/// does not count, so that a test may compare it.
package enum ThreadTime {
    /// The CPU time of the thread since it began.
    package static var now: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// Runs what stays on this thread, and tells how long it has worked.
    package static func of<Value>(
        _ body: () throws -> Value
    ) rethrows -> (value: Value, time: Duration) {
        let begin = now
        let value = try body()
        return (value, now - begin)
    }
}
