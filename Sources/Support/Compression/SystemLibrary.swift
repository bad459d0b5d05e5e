// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A library of the system that was loaded while the program runs, so that nothing is linked with it.
struct SystemLibrary {
    private let handle: UnsafeMutableRawPointer

    /// Loads a library; nil if the system does not have it.
    init?(_ file: String) {
        guard let handle = unsafe dlopen(file, RTLD_NOW | RTLD_LOCAL) else { return nil }
        unsafe self.handle = handle
    }

    /// Finds a function, and takes it for one of the type that the caller names.
    func function<Function>(_ name: String) -> Function? {
        unsafe dlsym(handle, name).map { unsafe unsafeBitCast($0, to: Function.self) }
    }
}
