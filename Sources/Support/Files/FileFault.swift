// SPDX-License-Identifier: Apache-2.0

/// The reason why a file operation failed.
///
/// After functions with `throws(FileFault)`, which cannot be cancelled, `catch` has this type. The
/// compiler of Swift 6.3 crashes at `catch let fault as FileFault`.
public struct FileFault: Error, CustomStringConvertible {
    /// The failed operation and the reason.
    public let description: String
    /// The error number of the system (`errno`).
    public let code: CInt

    /// Creates an error from an error number of the system.
    public init(_ action: String, code: CInt = errno) {
        self.code = code
        unsafe description = "cannot \(action): \(String(cString: strerror(code)))"
    }

    /// Creates an error for a file or folder that is accessible but not trusted.
    public init(refusing what: String, _ reason: String, code: CInt) {
        self.code = code
        description = "\(what) is not used: \(reason)"
    }
}

/// Writes all bytes at a position of a file, with several system calls if necessary.
/// - Parameters:
///   - data: The bytes.
///   - descriptor: An open file.
///   - offset: The position of the first byte.
///   - action: The action in the error message, for example "write a temporary file".
/// - Throws: ``FileFault`` with the error of the system.
public func writeWhole(
    _ data: Data, to descriptor: CInt, at offset: Int64, action: String
) throws(FileFault) {
    // `withUnsafeBytes` does not rethrow typed errors.
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

/// Writes all bytes of a buffer at a position of a file.
public func writeWhole(
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
