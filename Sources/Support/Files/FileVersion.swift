// SPDX-License-Identifier: Apache-2.0

/// What tells the versions of a file apart: its identity, its size and its times.
///
/// A file may change again within one tick of the file system's clock, and keep its version.
public struct FileVersion: Hashable, Sendable {
    /// The numbers of the device and of the file on it.
    public let device, inode: Int64
    /// The size in bytes.
    public let size: Int64
    /// The time of the last change of the content, in nanoseconds since 1970; programs can set it.
    public let modified: Int64
    /// The time of the last change of content or attributes, in nanoseconds since 1970.
    public let changed: Int64

    /// Reads the version from the status of a file.
    public init(_ status: stat) {
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        device = Int64(truncatingIfNeeded: status.st_dev)
        inode = Int64(truncatingIfNeeded: status.st_ino)
        size = Int64(status.st_size)
        self.modified = Self.nanoseconds(modified)
        self.changed = Self.nanoseconds(changed)
    }

    // Wraps around beyond the year 2262, because only changes of the time count.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
