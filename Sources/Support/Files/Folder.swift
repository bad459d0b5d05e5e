// SPDX-License-Identifier: Apache-2.0

/// A folder with an open descriptor.
///
/// Files and folders are opened one level at a time, relative to the descriptor, without following
/// links. A link that replaces a file or a folder can therefore never redirect a write or a
/// removal. The library uses this type for all files that the library opens.
public final class Folder: Sendable {
    /// The owners whose folders and files may be used.
    public enum Trust: Sendable {
        /// Only this user. Folders and files that other users own or can write to are rejected.
        ///
        /// The superuser counts as this user, because nothing can be protected from the superuser.
        case own
        /// Any owner.
        case any
    }

    /// The path of the folder, for messages and for ``isStillThere``.
    public let path: String
    private let trust: Trust
    private let descriptor: CInt

    private init(_ descriptor: CInt, _ path: String, _ trust: Trust) {
        self.descriptor = descriptor
        self.path = path
        self.trust = trust
    }

    deinit { close(descriptor) }

    // MARK: Opening

    /// Opens a folder by a path from the user, and follows links in the path.
    ///
    /// With ``Trust/own``, other users may have write access to the folder only if the folder is
    /// sticky, as `/tmp` is. In a sticky folder, other users cannot replace the files of this user,
    /// and files of other users are rejected.
    /// - Throws: ``FileFault``, with code `ENOENT` if the folder does not exist.
    public static func named(_ path: String, _ trust: Trust) throws(FileFault) -> Folder {
        let path = path.isEmpty ? "." : path
        let descriptor = unsafe open(path, searching | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFault("open the folder \(path)") }
        let folder = Folder(descriptor, path, trust)
        let status = try folder.status()
        if status.st_mode & S_ISVTX == 0 || status.st_mode & othersWrite == 0 {
            try check(status, "the folder \(path)", trust)
        } else {
            try checkOwner(status, "the folder \(path)", trust)
        }
        return folder
    }

    /// Opens a folder by a path from the user, and creates a missing folder with mode 0700.
    public static func making(_ path: String, _ trust: Trust) throws -> Folder {
        do {
            return try named(path, trust)
        } catch  where error.code == ENOENT {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            return try named(path, trust)
        }
    }

    /// Opens a folder in this folder.
    /// - Parameters:
    ///   - name: The name of the folder.
    ///   - isMade: Whether a missing folder is created, with mode 0700.
    /// - Returns: The folder.
    /// - Throws: ``FileFault``, with code `ENOENT` if the folder does not exist.
    public func folder(_ name: String, making isMade: Bool = false) throws(FileFault) -> Folder {
        let path = "\(self.path)/\(name)"
        if isMade, unsafe mkdirat(descriptor, name, 0o700) != 0, errno != EEXIST {
            throw FileFault("create the folder \(path)")
        }
        let opened = unsafe openat(
            descriptor, name, Self.searching | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else {
            let code = errno
            try refuseLink(name)
            throw FileFault("open the folder \(path)", code: code)
        }
        let folder = Folder(opened, path, trust)
        try Self.check(try folder.status(), "the folder \(path)", trust)
        return folder
    }

    /// Opens a regular file in the folder.
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - flags: Flags of `open(2)`; a new file gets mode 0600.
    /// - Returns: A descriptor that child processes do not inherit, and that the caller must close.
    /// - Throws: ``FileFault``, with code `ENOENT` if the file does not exist.
    public func openFile(_ name: String, _ flags: CInt) throws(FileFault) -> CInt {
        // Without this flag, opening a pipe would wait for the other end.
        let opened = unsafe openat(
            descriptor, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard opened >= 0 else {
            let code = errno
            if code == ELOOP { try refuseLink(name) }
            throw FileFault("open the file \(path)/\(name)", code: code)
        }
        do throws(FileFault) {
            var status = stat()
            guard unsafe fstat(opened, &status) == 0 else {
                throw FileFault("inspect the file \(path)/\(name)")
            }
            try check(status, of: name)
            return opened
        } catch {
            close(opened)
            throw error
        }
    }

    // MARK: Contents

    /// Returns the status of a name without following a link, or nil if the name does not exist.
    public func status(of name: String) throws(FileFault) -> stat? {
        var status = stat()
        if unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        if errno == ENOENT { return nil }
        throw FileFault("inspect \(path)/\(name)")
    }

    /// Throws an error if a name exists and is not a trusted regular file.
    public func checkFile(_ name: String) throws(FileFault) {
        try refuseLink(name)
        if let status = try status(of: name) { try check(status, of: name) }
    }

    /// Returns the destination of a link, or nil if the name is not a link.
    /// - Throws: ``FileFault`` if another user created the link.
    public func target(ofLink name: String) throws(FileFault) -> String? {
        guard let status = try status(of: name), status.st_mode & S_IFMT == S_IFLNK else {
            return nil
        }
        try Self.checkOwner(status, "the link \(path)/\(name)", trust)
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe bytes.withUnsafeMutableBytes { bytes in
            guard let start = unsafe bytes.bindMemory(to: CChar.self).baseAddress else { return 0 }
            return unsafe readlinkat(descriptor, name, start, bytes.count)
        }
        guard count > 0 else { throw FileFault("read the link \(path)/\(name)") }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Returns the names in the folder.
    public func names() throws(FileFault) -> [String] {
        let opened = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { throw FileFault("list the folder \(path)") }
        guard let stream = unsafe fdopendir(opened) else {
            close(opened)
            throw FileFault("list the folder \(path)")
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != ".." { names.append(name) }
        }
        if errno != 0 { throw FileFault("list the folder \(path)") }
        return names
    }

    /// Removes a file or a link, but never the destination of a link.
    /// - Returns: Whether the file or link existed.
    @discardableResult
    public func remove(_ name: String) throws(FileFault) -> Bool {
        if unsafe unlinkat(descriptor, name, 0) == 0 { return true }
        if errno == ENOENT { return false }
        throw FileFault("remove \(path)/\(name)")
    }

    /// Renames a file, and replaces a file with the new name.
    public func move(_ name: String, to folder: Folder, as other: String) throws(FileFault) {
        guard unsafe renameat(descriptor, name, folder.descriptor, other) == 0 else {
            throw FileFault("replace \(folder.path)/\(other)")
        }
    }

    /// Creates a second name for a file; the name must not exist.
    public func link(_ name: String, in folder: Folder, as other: String) throws(FileFault) {
        guard unsafe linkat(descriptor, name, folder.descriptor, other, 0) == 0 else {
            throw FileFault("create \(folder.path)/\(other)")
        }
    }

    // MARK: Checks

    /// Whether the path still names this folder, which was neither moved nor replaced.
    public var isStillThere: Bool {
        var there = stat()
        guard unsafe lstat(path, &there) == 0, let status = try? status() else { return false }
        return there.st_dev == status.st_dev && there.st_ino == status.st_ino
    }

    private func status() throws(FileFault) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw FileFault("inspect the folder \(path)")
        }
        return status
    }

    private func refuseLink(_ name: String) throws(FileFault) {
        if let status = try status(of: name), status.st_mode & S_IFMT == S_IFLNK {
            throw FileFault(refusing: "\(path)/\(name)", "the path is a symbolic link", code: ELOOP)
        }
    }

    private func check(_ status: stat, of name: String) throws(FileFault) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileFault(refusing: "\(path)/\(name)", "not a regular file", code: EINVAL)
        }
        try Self.check(status, "the file \(path)/\(name)", trust)
    }

    private static func check(
        _ status: stat, _ what: String, _ trust: Trust
    ) throws(FileFault) {
        try checkOwner(status, what, trust)
        guard trust == .own, status.st_mode & othersWrite != 0 else { return }
        throw FileFault(
            refusing: what,
            "others may write to the path (mode \(String(status.st_mode & 0o7777, radix: 8)));"
                + " remove that permission (chmod go-w)", code: EPERM)
    }

    private static func checkOwner(
        _ status: stat, _ what: String, _ trust: Trust
    ) throws(FileFault) {
        guard trust == .own, status.st_uid != geteuid(), status.st_uid != 0 else { return }
        throw FileFault(
            refusing: what, "the path belongs to another user (ID \(status.st_uid))", code: EPERM)
    }

    private static let othersWrite: mode_t = S_IWGRP | S_IWOTH

    // Files in a folder can be opened without the permission to list the folder.
    #if os(Linux)
    private static let searching: CInt = 0o10000000
    #else
    private static let searching: CInt = O_RDONLY
    #endif
}

/// The properties that differ between versions of a file: its identity, its size and its times.
///
/// If a file changes again within one tick of the file system's clock, the version may stay the
/// same.
public struct FileVersion: Hashable, Sendable {
    /// The numbers of the device, and of the file on the device.
    public let device, inode: Int64
    /// The size in bytes.
    public let size: Int64
    /// The time of the last content change, in nanoseconds since 1970, which programs can set.
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

    // The value wraps around after the year 2262, because only changes of the time are important.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
