// SPDX-License-Identifier: Apache-2.0

/// A small file that only its owner may read, and that each write replaces completely.
public struct PrivateFile: Sendable {
    private let path: String
    private let trust: Folder.Trust
    private let followsLink: Bool

    /// Creates a description of a file, without an access to the file.
    /// - Parameters:
    ///   - path: The file, which need not exist.
    ///   - trust: The owners whose file and folder may be used.
    ///   - followsLink: If true and the path is a link, the destination of the link is read and
    ///     replaced, and the link stays. If false, a link is rejected.
    public init(_ path: String, trust: Folder.Trust = .any, followsLink: Bool = true) {
        self.path = path
        self.trust = trust
        self.followsLink = followsLink
    }

    /// Reads the content, or returns nil if the file does not exist.
    /// - Throws: ``FileFault`` if the file cannot be read or is larger than `maxBytes`.
    public func read(maxBytes: Int) throws -> Data? {
        let file: UnnamedFile
        do {
            let place = try place()
            file = try UnnamedFile.reading(place.name, in: place.folder)
        } catch let fault as FileFault where fault.code == ENOENT {
            return nil
        }
        var content = Data()
        while content.count <= maxBytes {
            let chunk = try file.read(upToCount: 65_536, at: Int64(content.count))
            if chunk.isEmpty { return content }
            content.append(chunk)
        }
        throw FileFault("read such a large file", code: EFBIG)
    }

    /// Throws an error if a link, a folder or a device at the path prevents writing.
    public func check() throws {
        do {
            let place = try place()
            try place.folder.checkFile(place.name)
        } catch let fault as FileFault where fault.code == ENOENT {
        }
    }

    /// Writes a new file of mode 0600 in the same folder, and renames it to replace the old file.
    ///
    /// Readers get either the old or the new content, even if the process is killed.
    public func write(_ content: Data) throws {
        let place = try place()
        try place.folder.checkFile(place.name)
        let (temporary, descriptor) = try Self.temporary(for: place.name, in: place.folder)
        do {
            defer { close(descriptor) }
            try writeWhole(content, to: descriptor, at: 0, action: "write a file")
            guard fsync(descriptor) == 0 else { throw FileFault("write a file") }
            try place.folder.move(temporary, to: place.folder, as: place.name)
        } catch {
            _ = try? place.folder.remove(temporary)
            throw error
        }
    }

    /// Removes temporary files of processes that were killed during a write of this file.
    ///
    /// Call this method when the file is opened, and no call waits.
    public func removeLeftovers() {
        guard let place = try? place(), let names = try? place.folder.names() else { return }
        for name in names where Self.isTemporary(name, of: place.name) {
            guard let descriptor = try? place.folder.openFile(name, O_RDONLY) else { continue }
            // A process that is writing holds the lock.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { _ = try? place.folder.remove(name) }
            close(descriptor)
        }
    }

    // MARK: Temporary files

    // Creates a temporary file that is locked while its descriptor is open.
    private static func temporary(
        for name: String, in folder: Folder
    ) throws -> (name: String, descriptor: CInt) {
        for _ in 0..<16 {
            let name = "\(name).\(getpid())-\(UInt32.random(in: 0...UInt32.max)).tmp"
            let descriptor = try folder.openFile(name, O_WRONLY | O_CREAT | O_EXCL)
            var status = stat()
            // Before the lock, another process may have removed the file as a leftover.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0,
                status.st_nlink == 1
            {
                return (name, descriptor)
            }
            close(descriptor)
        }
        throw FileFault("create a temporary file in \(folder.path)", code: EEXIST)
    }

    private static func isTemporary(_ name: String, of file: String) -> Bool {
        // The code compares bytes, because canonically equivalent names may be different files.
        guard name.utf8.starts(with: (file + ".").utf8), name.hasSuffix(".tmp") else {
            return false
        }
        let middle = name.utf8.dropFirst(file.utf8.count + 1).dropLast(4)
        let numbers = middle.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return numbers.count == 2
            && numbers.allSatisfy { digits in
                !digits.isEmpty && digits.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
            }
    }

    // MARK: Links

    private func place() throws -> (folder: Folder, name: String) {
        var path = path
        for _ in 0..<Self.maxLinks {
            let (parent, name) = try Self.split(path)
            let folder = try Folder.named(parent, trust)
            guard followsLink, let target = try folder.target(ofLink: name) else {
                return (folder, name)
            }
            path = target.utf8.first == UInt8(ascii: "/") ? target : "\(parent)/\(target)"
        }
        throw FileFault("follow the links from \(path)", code: ELOOP)
    }

    private static let maxLinks = 40

    private static func split(_ path: String) throws -> (folder: String, name: String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        guard !name.isEmpty, name != ".", name != ".." else {
            throw FileFault("use \(path) as a file", code: EISDIR)
        }
        guard let slash else { return (".", name) }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }
}

// The destination of metrics may be any kind of file.
extension PrivateFile {
    /// Writes like ``write(_:)``, or directly into a device, a pipe or a link.
    ///
    /// The method never blocks. If a pipe has no reader, or the reader does not read, the method
    /// throws an error.
    public static func put(_ content: Data, to path: String) throws {
        var status = stat()
        let isRegular =
            unsafe lstat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFREG : errno == ENOENT
        if isRegular { return try PrivateFile(path).write(content) }
        let descriptor = unsafe open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileFault("open a file for writing") }
        defer { close(descriptor) }
        try writeDirectly(content, to: descriptor)
    }

    /// Whether ``put(_:to:)`` can succeed, as far as a check before the write can decide.
    public static func canPut(to path: String) -> Bool {
        var status = stat()
        let isThere = unsafe lstat(path, &status) == 0
        let kind = status.st_mode & S_IFMT
        if isThere, kind == S_IFDIR { return false }
        if isThere, kind != S_IFREG { return unsafe access(path, W_OK) == 0 }
        let folder = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        return unsafe access(folder, W_OK | X_OK) == 0
    }
}

// This function is not a method, because a method would hide the function of the system.
/// Writes all bytes at the current position of a descriptor.
public func writeDirectly(_ content: Data, to descriptor: CInt) throws {
    try unsafe content.withUnsafeBytes { bytes in
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = unsafe write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                done += count
            } else if errno != EINTR {
                throw FileFault("write a file")
            }
        }
    }
}
