// SPDX-License-Identifier: Apache-2.0

import Dispatch
public import Foundation
import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// A Unix socket from which `turnpike status PATH` reads the state of clients.
///
/// ```swift
/// let socket = try StatusSocket(at: "/run/shop/status.sock", of: users, orders)
/// defer { socket.close() }
/// ```
///
/// Its mode is 0600: only the user of the process, and the superuser, can connect. A peer gets the
/// state of each client as JSON. Nothing is read from it, so nothing can be set. Peers are served one
/// after the other; one that reads nothing for a second is given up.
public final class StatusSocket: Sendable {
    // SAFETY: it is not changed, and `cancel` may be called on any thread.
    private nonisolated(unsafe) let source: any DispatchSourceRead
    private let folder: Folder
    private let name: String
    private let inode: UInt64
    private let isClosed = Atomic(false)

    /// Opens the socket.
    ///
    /// A socket that a process of the same user has left behind is replaced.
    /// - Parameters:
    ///   - path: Where it is, in at most 103 bytes. Other users must not be able to write to the
    ///     folder, unless it is sticky, as `/tmp` is.
    ///   - clients: The clients to show. The socket keeps them until it is closed.
    /// - Throws: A fault of the file system; also if a process serves the path, or if it is no socket
    ///   of this user.
    public convenience init(at path: String, of clients: Client...) throws {
        try self.init(at: path, of: clients, patience: timeval(tv_sec: 1, tv_usec: 0))
    }

    init(at path: String, of clients: [Client], patience: timeval) throws {
        let url = URL(filePath: path)
        name = url.lastPathComponent
        folder = try Folder.named(
            url.deletingLastPathComponent().path(percentEncoded: false), .own)
        let server = try UnixSocket(path)
        var isBound = unsafe server.call(bind)
        if !isBound, errno == EADDRINUSE, let old = try folder.status(of: name) {
            guard old.st_mode & S_IFMT == S_IFSOCK, old.st_uid == geteuid() else {
                throw FileFault(refusing: path, "it is no socket of this user", code: EEXIST)
            }
            guard unsafe try !UnixSocket(path).call(connect), errno == ECONNREFUSED else {
                throw FileFault(refusing: path, "a process serves it", code: EADDRINUSE)
            }
            try folder.remove(name)
            isBound = unsafe server.call(bind)
        }
        // Nobody can connect before it listens.
        guard isBound, unsafe chmod(path, 0o600) == 0, listen(server.descriptor, 8) == 0,
            let status = try folder.status(of: name)
        else { throw FileFault("open the socket \(path)") }
        inode = UInt64(status.st_ino)
        let source = DispatchSource.makeReadSource(
            fileDescriptor: server.descriptor, queue: DispatchQueue(label: "turnpike.status"))
        source.setEventHandler {
            server.serve(patience) { (try? clients.map { ClientStatus(of: $0) }.json()) ?? Data() }
        }
        // Until then the server keeps its descriptor.
        source.setCancelHandler { withExtendedLifetime(server) {} }
        source.resume()
        unsafe self.source = source
    }

    deinit { close() }

    /// Removes the socket, and serves no more peers.
    public func close() {
        // The path, and even the inode, may belong to a later socket by now.
        if isClosed.exchange(true, ordering: .relaxed) { return }
        unsafe source.cancel()
        // Another process may have replaced it.
        if let status = try? folder.status(of: name), UInt64(status.st_ino) == inode {
            _ = try? folder.remove(name)
        }
    }
}

extension [ClientStatus] {
    /// Reads the states that a ``StatusSocket`` serves; it blocks the thread.
    /// - Parameter path: Where the socket is.
    /// - Throws: A fault of the file system, also if the process behind it sends nothing for five
    ///   seconds, or more than 16 MiB; a `DecodingError` if it sends something else.
    public init(socket path: String) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        self = try decoder.decode(Self.self, from: UnixSocket(path).content(upTo: 1 << 24))
    }

    /// Returns the states as JSON: objects with `date` and `parts`, as ``ClientStatus`` has them.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}

/// A socket for a path that waits for 5 seconds at most; its descriptor is closed with it.
final class UnixSocket: Sendable {
    let descriptor: CInt
    private let path: String

    init(_ path: String) throws(FileFault) {
        let room = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        if path.utf8.count >= room { throw FileFault("use \(path)", code: ENAMETOOLONG) }
        self.path = path
        // The type is 1 on all systems, which declare it differently.
        descriptor = socket(AF_UNIX, numericCast(1), 0)
        guard descriptor >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw FileFault("make a socket")
        }
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            Self.set(option, of: descriptor, to: timeval(tv_sec: 5, tv_usec: 0))
        }
    }

    deinit { close(descriptor) }

    /// Calls `bind` or `connect`.
    /// - Returns: Whether it succeeded.
    func call(_ function: (CInt, UnsafePointer<sockaddr>?, socklen_t) -> CInt) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: path.utf8)
        }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// Sends the next peer some content, and hangs up.
    func serve(_ patience: timeval, _ content: () -> Data) {
        let peer = accept(descriptor, nil, nil)
        // Without a descriptor for the peer, it would be asked for again at once.
        if peer < 0 { return Thread.sleep(forTimeInterval: 0.1) }
        defer { close(peer) }
        // A child of this process would keep the peer from seeing the end.
        _ = fcntl(peer, F_SETFD, FD_CLOEXEC)
        Self.set(SO_SNDTIMEO, of: peer, to: patience)
        var rest = content()[...]
        // A peer that reads a little at a time is given up too.
        for _ in 0..<64 where !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe send(peer, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads to the end.
    func content(upTo maxBytes: Int) throws -> Data {
        guard unsafe call(connect) else { throw FileFault("connect to \(path)") }
        var content = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while content.count <= maxBytes {
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 { return content }
            if count < 0 { throw FileFault("read \(path)") }
            content += buffer.prefix(count)
        }
        throw FileFault("read so much from \(path)", code: EFBIG)
    }

    private static func set(_ option: CInt, of descriptor: CInt, to limit: timeval) {
        var limit = limit
        unsafe setsockopt(
            descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
}
