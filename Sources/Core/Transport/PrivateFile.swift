package import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Small files that nobody but their owner may read, replaced as a whole.
package enum PrivateFile {
    /// The content, or nil where there is no file.
    /// - Throws: What keeps it from being read, also that it is larger than `maxBytes`.
    package static func read(_ path: String, maxBytes: Int) throws -> Data? {
        let file: UnnamedFile
        do {
            file = try UnnamedFile.reading(path)
        } catch let fault as FileFault where fault.code == ENOENT {
            return nil
        }
        var content = Data()
        while content.count <= maxBytes {
            let chunk = try file.read(upToCount: 65_536, at: Int64(content.count))
            if chunk.isEmpty { return content }
            content.append(chunk)
        }
        throw FileFault("read a file of that size", code: EFBIG)
    }

    /// Writes a file of mode 0600 beside the old one, and puts it in its place: a reader, and a
    /// process that dies, see the old content or the new one.
    package static func write(_ content: Data, to path: String) throws {
        let temporary = "\(path).\(getpid())-\(UInt32.random(in: 0...UInt32.max)).tmp"
        let descriptor = unsafe open(
            temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFault("create a file") }
        do {
            defer { close(descriptor) }
            try writeWhole(content, to: descriptor, at: 0, action: "write a file")
            guard fsync(descriptor) == 0 else { throw FileFault("write a file") }
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        guard unsafe rename(temporary, path) == 0 else {
            let fault = FileFault("replace a file")
            unsafe unlink(temporary)
            throw fault
        }
    }

    /// Writes as ``write(_:to:)`` does, or into what is no regular file: a device, a pipe, a link.
    ///
    /// It waits for nobody: a pipe that has no reader, or one that does not read, is a fault.
    package static func put(_ content: Data, to path: String) throws {
        var status = stat()
        let isRegular =
            unsafe lstat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFREG : errno == ENOENT
        if isRegular { return try write(content, to: path) }
        let descriptor = unsafe open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileFault("open a file for writing") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: content)
    }

    /// Whether ``put(_:to:)`` may do what it is asked to, as far as that shows beforehand.
    package static func canPut(to path: String) -> Bool {
        var status = stat()
        let isThere = unsafe lstat(path, &status) == 0
        let kind = status.st_mode & S_IFMT
        if isThere, kind == S_IFDIR { return false }
        if isThere, kind != S_IFREG { return unsafe access(path, W_OK) == 0 }
        let folder = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        return unsafe access(folder, W_OK | X_OK) == 0
    }
}
