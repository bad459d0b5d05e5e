import Foundation
import TurnpikeCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A file that is being downloaded: hidden, of mode 0600, under a name that nobody can guess, and
/// locked against another download.
final class PartialFile: Sendable {
    let url: URL
    private let descriptor: CInt
    private var path: String { url.path(percentEncoded: false) }

    static func isName(_ name: String) -> Bool {
        name.wholeMatch(of: /\.turnpike-[0-9a-f]{32}\.part/) != nil
    }

    /// Makes an empty file.
    static func create(in directory: URL) throws -> PartialFile {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let url = directory.appending(
            path: ".turnpike-\(bytes.hexadecimal).part", directoryHint: .notDirectory)
        let descriptor = unsafe open(
            url.path(percentEncoded: false),
            O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw fault("make a file in the directory") }
        let file = PartialFile(url: url, descriptor: descriptor)
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
        return file
    }

    /// Opens a file that an earlier download left, or gives nil where it is gone, in use, or not
    /// such a file.
    static func reopen(_ url: URL) -> PartialFile? {
        guard url.isFileURL, isName(url.lastPathComponent) else { return nil }
        let descriptor = unsafe open(
            url.path(percentEncoded: false), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let file = PartialFile(url: url, descriptor: descriptor)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_nlink == 1,
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return nil }
        return file
    }

    private init(url: URL, descriptor: CInt) {
        self.url = url
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// The number of bytes.
    var size: Int64 {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Writes all bytes at a position.
    func write(_ data: Data, at offset: Int64) throws {
        do {
            try writeWhole(data, to: descriptor, at: offset, action: "write to the file")
        } catch {
            throw Self.fault(error)
        }
    }

    /// Makes the file that long.
    func truncate(to size: Int64) throws {
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw Self.fault("empty the file") }
    }

    /// Gives the file its name, in one step.
    func move(to destination: URL, replacing: Bool) throws {
        let target = destination.path(percentEncoded: false)
        if !replacing {
            if unsafe link(path, target) == 0 {
                unlink()
                return
            }
            if errno == EEXIST { throw Self.fault("take the file's name") }
            // No hard links on this file system: the name is taken by an empty file first.
            let placeholder = unsafe open(
                target, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0o600)
            guard placeholder >= 0 else { throw Self.fault("take the file's name") }
            close(placeholder)
        }
        guard unsafe rename(path, target) == 0 else { throw Self.fault("take the file's name") }
    }

    /// Removes the file.
    func unlink() { _ = unsafe remove(path) }

    private static func fault(_ action: String) -> ClientError { fault(FileFault(action)) }

    private static func fault(_ fault: FileFault) -> ClientError {
        ClientError(.download, "the download \(fault)", underlying: fault)
    }
}
