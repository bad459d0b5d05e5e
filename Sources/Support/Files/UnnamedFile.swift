// SPDX-License-Identifier: Apache-2.0

/// An open file that is read and written at positions; a temporary file has no name and is removed
/// when the descriptor is closed.
public final class UnnamedFile: Sendable {
    private let descriptor: CInt

    /// Creates a temporary file of mode 0600 that no other process can open by name.
    public static func temporary() throws -> UnnamedFile {
        let directory = FileManager.default.temporaryDirectory.path
        #if os(Linux)
        // If the file system does not support O_TMPFILE, a named file is created and unlinked.
        let unnamed = unsafe open(directory, unnamedFlag | O_RDWR | O_CLOEXEC | O_EXCL, 0o600)
        if unnamed >= 0 { return UnnamedFile(descriptor: unnamed) }
        #endif
        // The name is unpredictable, and exists only until the file is unlinked.
        let path = "\(directory)/turnpike-\(UInt64.random(in: 0...UInt64.max))"
        let named = unsafe open(
            path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard named >= 0 else { throw FileFault("create a temporary file") }
        unsafe unlink(path)
        return UnnamedFile(descriptor: named)
    }

    /// Opens a file for reading.
    public static func reading(_ path: String) throws -> UnnamedFile {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFault("open the file") }
        return UnnamedFile(descriptor: descriptor)
    }

    /// Opens a file in a folder for reading.
    public static func reading(_ name: String, in folder: Folder) throws -> UnnamedFile {
        UnnamedFile(descriptor: try folder.openFile(name, O_RDONLY))
    }

    /// Opens a file for ``append(_:)``, and creates a missing file with mode 0600.
    ///
    /// A FIFO without a reader is refused, because opening the FIFO would wait for a reader.
    public static func appending(to path: String) throws -> UnnamedFile {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC
        let descriptor = unsafe open(path, flags | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw FileFault("open the file") }
        // After this line, a write may block.
        _ = fcntl(descriptor, F_SETFL, O_APPEND)
        return UnnamedFile(descriptor: descriptor)
    }

    /// Writes all bytes at the end of a file that ``appending(to:)`` has opened.
    public func append(_ data: Data) throws { try writeDirectly(data, to: descriptor) }

    /// Returns the size of a regular file, following links, or nil if the file is not regular.
    public static func size(ofRegular path: String) throws -> Int64? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw FileFault("read the file") }
        return status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : nil
    }

    /// Returns whether a path is a folder, following links, or nil if the path does not exist.
    public static func isFolder(_ path: String) -> Bool? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFDIR : nil
    }

    /// Takes an open descriptor, and closes the descriptor at the end.
    public init(descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Writes all bytes at a position.
    public func write(_ data: Data, at offset: Int64) throws {
        try writeWhole(data, to: descriptor, at: offset, action: "write a temporary file")
    }

    /// Reads at most the size of the buffer at a position, and returns 0 at the end of the file.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        while true {
            let got = unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if got >= 0 { return got }
            if errno != EINTR { throw FileFault("read a file") }
        }
    }

    /// Reads at most a number of bytes at a position, and returns no bytes at the end of the file.
    public func read(upToCount count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        let got = try unsafe data.withUnsafeMutableBytes { try unsafe read(into: $0, at: offset) }
        return got == count ? data : data.prefix(got)
    }

    /// Truncates the file to zero bytes.
    public func truncate() { ftruncate(descriptor, 0) }
}

#if os(Linux)
private let unnamedFlag: CInt = 0o20000000 | O_DIRECTORY
#endif
