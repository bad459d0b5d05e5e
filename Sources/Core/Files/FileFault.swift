package import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What kept an operation on a file from being done.
package struct FileFault: Error, CustomStringConvertible {
    package let description: String
    package let code: CInt

    /// What the system said to it.
    package init(_ action: String, code: CInt = errno) {
        self.code = code
        unsafe description = "cannot \(action): \(String(cString: strerror(code)))"
    }

    /// Why a file or folder is not used, though the system would allow it.
    package init(refusing what: String, _ reason: String, code: CInt) {
        self.code = code
        description = "\(what) is not used: \(reason)"
    }
}

/// Writes all bytes at a position of a file, which the system may take in parts.
/// - Parameters:
///   - data: The bytes.
///   - descriptor: An open file.
///   - offset: Where in the file the first byte goes.
///   - action: What is tried, for the error: "write a temporary file".
/// - Throws: ``FileFault`` with what the system said.
package func writeWhole(
    _ data: Data, to descriptor: CInt, at offset: Int64, action: String
) throws(FileFault) {
    // Typed errors do not come through what gives the bytes.
    let fault: FileFault? = unsafe data.withUnsafeBytes { bytes in
        do throws(FileFault) {
            try unsafe writeWhole(bytes, to: descriptor, at: offset, action: action)
            return nil
        } catch {
            return error
        }
    }
    if let fault { throw fault }
}

/// The same for bytes in memory.
package func writeWhole(
    _ bytes: UnsafeRawBufferPointer, to descriptor: CInt, at offset: Int64, action: String
) throws(FileFault) {
    var done = 0
    while done < bytes.count {
        let written = unsafe pwrite(
            descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done,
            off_t(offset + Int64(done)))
        if written > 0 {
            done += written
        } else if written == 0 {
            throw FileFault(action, code: ENOSPC)
        } else if errno != EINTR {
            throw FileFault(action)
        }
    }
}
