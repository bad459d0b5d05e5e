// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A detached system thread that runs a closure.
///
/// Foundation's `Thread` does not report whether it could be started.
enum SystemThread {
    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread.
    /// - Parameters:
    ///   - stackBytes: The size of its stack.
    ///   - body: The code to run.
    /// - Returns: Whether it was started; the limits of the system or the process may prevent it.
    static func start(stackBytes: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
        // Allocated uninitialised, because its members are private to the C library.
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
