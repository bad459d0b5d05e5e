#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A thread of the system's, detached, that runs a closure to its end.
///
/// Foundation's starts one without a word of whether there is any.
enum SystemThread {
    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread.
    /// - Parameters:
    ///   - stackBytes: The size of its stack.
    ///   - body: What it runs.
    /// - Returns: Whether there is one: the system, or the process's limits, may allow no more.
    static func start(stackBytes: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
        // Not initialised by hand, for its members are the C library's own.
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        defer { unsafe attributes.deallocate() }
        guard unsafe pthread_attr_init(attributes) == 0 else { return false }
        defer { unsafe pthread_attr_destroy(attributes) }
        unsafe pthread_attr_setdetachstate(attributes, CInt(PTHREAD_CREATE_DETACHED))
        guard unsafe pthread_attr_setstacksize(attributes, stackBytes) == 0 else { return false }
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let work = unsafe Unmanaged.passRetained(Work(body))
        let status = unsafe pthread_create(&thread, attributes, main, work.toOpaque())
        if status != 0 { unsafe work.release() }
        return status == 0
    }

    #if canImport(Darwin)
    private static let main: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? =
        { work in
            unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
            return nil
        }
    #else
    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? =
        { work in
            if let work = unsafe work {
                unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
            }
            return nil
        }
    #endif
}
