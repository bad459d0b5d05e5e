// SPDX-License-Identifier: Apache-2.0

public import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension SHA256 {
    /// Returns the digest of a file's content, of any size.
    ///
    /// The file is read to its end in portions of 64 KiB, on a thread that may block, so that
    /// neither memory nor the threads of other tasks are used up.
    /// - Parameter url: A regular file; a symbolic link is followed.
    /// - Returns: 32 bytes.
    /// - Throws: ``FileFault`` if the file cannot be read or is no regular file, or
    ///   `CancellationError` soon after the task was cancelled.
    public static func digest(ofFile url: URL) async throws -> Data {
        let path = url.path(percentEncoded: false)
        return try await BlockingExecutor.run { try digest(ofFile: path) }
    }

    private static let portionBytes = 65_536

    private static func digest(ofFile path: String) throws -> Data {
        // Without O_NONBLOCK a FIFO would be waited for.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileFault("read \(path)") }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileFault("read \(path)") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let found = status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "a device or a pipe"
            throw FileFault(
                refusing: path, "found \(found); expected a regular file", code: EINVAL)
        }
        var hash = SHA256()
        var portion = [UInt8](repeating: 0, count: portionBytes)
        while true {
            try Task.checkCancellation()
            let count = unsafe portion.withUnsafeMutableBytes { bytes in
                let count = unsafe read(descriptor, bytes.baseAddress, bytes.count)
                if count > 0 {
                    unsafe hash.update(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                }
                return count
            }
            if count == 0 { return hash.finalize() }
            if count < 0, errno != EINTR { throw FileFault("read \(path)") }
        }
    }
}
