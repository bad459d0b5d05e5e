// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
public import TurnpikeCore
public import TurnpikeSupport

/// A Unix socket from which `turnpike status PATH` reads the state of clients.
///
/// ```swift
/// let socket = try StatusSocket(at: "/run/shop/status.sock", of: users, orders)
/// defer { socket.close() }
/// ```
///
/// Only the user of the process and the superuser can connect, because the socket has mode 0600. A
/// peer gets the state of each client as JSON. A peer cannot change anything, because the socket
/// reads nothing from a peer. The socket serves peers one after another. The socket disconnects a
/// peer that reads nothing for a second.
public final class StatusSocket: Sendable {
    // SAFETY: the property never changes, and any thread may call `cancel`.
    private nonisolated(unsafe) let source: any DispatchSourceRead
    private let folder: Folder
    private let name: String
    private let inode: UInt64
    private let isClosed = Atomic(false)

    /// Opens the socket.
    ///
    /// If an ended process of the same user has left a socket at the path, the new socket replaces
    /// the old socket.
    /// - Parameters:
    ///   - path: The path of the socket, at most 103 bytes. Other users must not be able to write
    ///     to the folder of the socket, unless the folder is sticky, as `/tmp` is.
    ///   - clients: The clients to show. The socket retains the clients until the socket is closed.
    /// - Throws: A fault of the file system, also if a process serves the path, or if the path is
    ///   not a socket of this user.
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
                throw FileFault(refusing: path, "not a socket, or another user's", code: EEXIST)
            }
            guard unsafe try !UnixSocket(path).call(connect), errno == ECONNREFUSED else {
                throw FileFault(refusing: path, "a process serves it", code: EADDRINUSE)
            }
            try folder.remove(name)
            isBound = unsafe server.call(bind)
        }
        // The mode is set before `listen`, because no peer may connect before the mode is set.
        guard isBound, unsafe chmod(path, 0o600) == 0, listen(server.descriptor, 8) == 0,
            let status = try folder.status(of: name)
        else { throw FileFault("open the socket \(path)") }
        inode = UInt64(status.st_ino)
        let source = DispatchSource.makeReadSource(
            fileDescriptor: server.descriptor, queue: DispatchQueue(label: "turnpike.status"))
        source.setEventHandler {
            server.serve(patience) { (try? clients.map { ClientStatus(of: $0) }.json()) ?? Data() }
        }
        // The server must not release the descriptor before the source is cancelled.
        source.setCancelHandler { withExtendedLifetime(server) {} }
        source.resume()
        unsafe self.source = source
    }

    deinit { close() }

    /// Removes the socket, and serves no further peers.
    public func close() {
        // The check prevents that a second call removes a later socket with the same path, and even
        // the same inode.
        if isClosed.exchange(true, ordering: .relaxed) { return }
        unsafe source.cancel()
        // Another process may have replaced the socket.
        if let status = try? folder.status(of: name), UInt64(status.st_ino) == inode {
            _ = try? folder.remove(name)
        }
    }
}

extension [ClientStatus] {
    /// Reads the states that a ``StatusSocket`` serves.
    ///
    /// The initializer blocks the thread.
    /// - Parameter path: The path of the socket.
    /// - Throws: A fault of the file system, also if the server sends nothing for five seconds or
    ///   more than 16 MiB. If the content is not the JSON of states, the error is a
    ///   `DecodingError`.
    public init(socket path: String) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        self = try decoder.decode(Self.self, from: UnixSocket(path).content(upTo: 1 << 24))
    }

    /// Returns the states as JSON: objects with the members of ``ClientStatus``.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}

/// A socket for a path, which waits for at most 5 seconds and closes its descriptor.
final class UnixSocket: Sendable {
    let descriptor: CInt
    private let path: String

    init(_ path: String) throws(FileFault) {
        let room = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        if path.utf8.count >= room { throw FileFault("use \(path)", code: ENAMETOOLONG) }
        self.path = path
        // The type is 1 on all systems, but the systems declare different types for the constant.
        descriptor = socket(AF_UNIX, numericCast(1), 0)
        guard descriptor >= 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw FileFault("make a socket")
        }
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            Self.set(option, of: descriptor, to: timeval(tv_sec: 5, tv_usec: 0))
        }
    }

    deinit { close(descriptor) }

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

    func serve(_ patience: timeval, _ content: () -> Data) {
        let peer = accept(descriptor, nil, nil)
        // If no descriptor is free, `accept` would immediately report the same peer again.
        if peer < 0 {
            usleep(100_000)
            return
        }
        defer { close(peer) }
        // A child process must not inherit the connection, because the peer would not notice the
        // end.
        _ = fcntl(peer, F_SETFD, FD_CLOEXEC)
        Self.set(SO_SNDTIMEO, of: peer, to: patience)
        var rest = content()[...]
        // The loop is bounded, because the server must disconnect a peer that reads very slowly.
        for _ in 0..<64 where !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe send(peer, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

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
