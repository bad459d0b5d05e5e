import Foundation

#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

/// A folder that is held by its descriptor.
///
/// Files and folders below it are reached one level at a time, relative to the descriptor, and links
/// are never followed. So nobody who puts a link in the place of a file or a folder, before or while it
/// is used, can lead a write or a removal elsewhere. All files that the library keeps for itself go
/// through here.
package final class Folder: Sendable {
    /// Whose folders and files may be used.
    package enum Trust: Sendable {
        /// This user's alone: those of other users, and those that others may write to, are refused.
        ///
        /// The superuser counts as this user, for nothing can be kept from it.
        case own
        /// Anybody's: owners and modes are the user's affair.
        case any
    }

    /// The folder's path, for messages and for ``isStillThere``.
    package let path: String
    private let trust: Trust
    private let descriptor: CInt

    private init(_ descriptor: CInt, _ path: String, _ trust: Trust) {
        self.descriptor = descriptor
        self.path = path
        self.trust = trust
    }

    deinit { close(descriptor) }

    // MARK: Opening

    /// Opens a folder that the user has named; links on the way to it are the user's own.
    ///
    /// Under ``Trust/own`` others may write to it only if it is sticky, as `/tmp` is: they cannot
    /// touch what is this user's there, and what is theirs is refused below it.
    /// - Throws: ``FileFault``; of code `ENOENT` if there is no folder.
    package static func named(_ path: String, _ trust: Trust) throws(FileFault) -> Folder {
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

    /// Opens a folder that the user has named, and makes it, with mode 0700, if there is none.
    package static func making(_ path: String, _ trust: Trust) throws -> Folder {
        do {
            return try named(path, trust)
        } catch  where error.code == ENOENT {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            return try named(path, trust)
        }
    }

    /// Opens a folder in this one.
    /// - Parameters:
    ///   - name: Its name.
    ///   - isMade: Whether it is made, with mode 0700, if there is none.
    /// - Returns: The folder.
    /// - Throws: ``FileFault``; of code `ENOENT` if there is no folder.
    package func folder(_ name: String, making isMade: Bool = false) throws(FileFault) -> Folder {
        let path = "\(self.path)/\(name)"
        if isMade, unsafe mkdirat(descriptor, name, 0o700) != 0, errno != EEXIST {
            throw FileFault("make the folder \(path)")
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
    ///   - name: Its name.
    ///   - flags: Flags of `open(2)`; a file that is made gets mode 0600.
    /// - Returns: A descriptor that children do not inherit; the caller closes it.
    /// - Throws: ``FileFault``; of code `ENOENT` if there is no file.
    package func openFile(_ name: String, _ flags: CInt) throws(FileFault) -> CInt {
        // A pipe would wait for its other end.
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
                throw FileFault("look at the file \(path)/\(name)")
            }
            try check(status, of: name)
            return opened
        } catch {
            close(opened)
            throw error
        }
    }

    // MARK: What is in it

    /// What the system says of a name, without following a link; nil if there is nothing.
    package func status(of name: String) throws(FileFault) -> stat? {
        var status = stat()
        if unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        if errno == ENOENT { return nil }
        throw FileFault("look at \(path)/\(name)")
    }

    /// Throws if a name, where it stands for anything, is no regular file or not to be trusted.
    package func checkFile(_ name: String) throws(FileFault) {
        try refuseLink(name)
        if let status = try status(of: name) { try check(status, of: name) }
    }

    /// Where a link leads; nil if the name is not that of a link.
    /// - Throws: ``FileFault`` if somebody else has made the link.
    package func target(ofLink name: String) throws(FileFault) -> String? {
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

    /// The names in the folder.
    package func names() throws(FileFault) -> [String] {
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

    /// Removes a file, or a link, never what it leads to.
    /// - Returns: Whether it was there.
    @discardableResult
    package func remove(_ name: String) throws(FileFault) -> Bool {
        if unsafe unlinkat(descriptor, name, 0) == 0 { return true }
        if errno == ENOENT { return false }
        throw FileFault("remove \(path)/\(name)")
    }

    /// Gives a file another name, which it takes from whatever has it.
    package func move(_ name: String, to folder: Folder, as other: String) throws(FileFault) {
        guard unsafe renameat(descriptor, name, folder.descriptor, other) == 0 else {
            throw FileFault("replace \(folder.path)/\(other)")
        }
    }

    /// Gives a file a second name, which must be free.
    package func link(_ name: String, in folder: Folder, as other: String) throws(FileFault) {
        guard unsafe linkat(descriptor, name, folder.descriptor, other, 0) == 0 else {
            throw FileFault("make \(folder.path)/\(other)")
        }
    }

    // MARK: What it is

    /// Whether the folder still has its path: it was neither moved away nor replaced.
    package var isStillThere: Bool {
        var there = stat()
        guard unsafe lstat(path, &there) == 0, let status = try? status() else { return false }
        return there.st_dev == status.st_dev && there.st_ino == status.st_ino
    }

    private func status() throws(FileFault) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw FileFault("look at the folder \(path)")
        }
        return status
    }

    private func refuseLink(_ name: String) throws(FileFault) {
        if let status = try status(of: name), status.st_mode & S_IFMT == S_IFLNK {
            throw FileFault(refusing: "\(path)/\(name)", "it is a symbolic link", code: ELOOP)
        }
    }

    private func check(_ status: stat, of name: String) throws(FileFault) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileFault(refusing: "\(path)/\(name)", "it is no regular file", code: EINVAL)
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
            "other users may write to it (mode \(String(status.st_mode & 0o7777, radix: 8)));"
                + " take that right from them (chmod go-w)", code: EPERM)
    }

    private static func checkOwner(
        _ status: stat, _ what: String, _ trust: Trust
    ) throws(FileFault) {
        guard trust == .own, status.st_uid != geteuid(), status.st_uid != 0 else { return }
        throw FileFault(
            refusing: what, "it belongs to another user (number \(status.st_uid))", code: EPERM)
    }

    private static let othersWrite: mode_t = S_IWGRP | S_IWOTH

    // To reach what is in a folder takes no right to list it.
    #if os(Linux)
    // O_PATH, which the C library hides from Swift.
    private static let searching: CInt = 0o10000000
    #else
    private static let searching: CInt = O_RDONLY
    #endif
}
