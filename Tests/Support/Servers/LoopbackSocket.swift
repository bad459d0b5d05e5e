// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
private let streamSocket = CInt(SOCK_STREAM.rawValue)
private let noSignal = CInt(MSG_NOSIGNAL)
#elseif canImport(Musl)
import Musl
private let streamSocket = SOCK_STREAM
private let noSignal = MSG_NOSIGNAL
#elseif canImport(Darwin)
import Darwin
private let streamSocket = SOCK_STREAM
private let noSignal: CInt = 0
#endif

/// A TCP socket on 127.0.0.1, closed when it is released; one thread uses it.
final class LoopbackSocket {
    enum Piece {
        case bytes(Data)
        case nothing
        case end
    }

    let descriptor: CInt

    private init(descriptor: CInt) throws {
        guard descriptor >= 0 else { throw ServerFault("there is no socket: errno \(errno)") }
        self.descriptor = descriptor
        // Children of the tests must not keep it open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { closeDescriptor(descriptor) }

    /// A socket that listens on a port, or on a free one.
    static func listening(on port: Int = 0) throws -> LoopbackSocket {
        let listener = try LoopbackSocket(descriptor: socket(AF_INET, streamSocket, 0))
        listener.set(SOL_SOCKET, SO_REUSEADDR, 1)
        let bound = unsafe withAddress(port) { unsafe bind(listener.descriptor, $0, $1) }
        guard bound == 0, listen(listener.descriptor, 1024) == 0 else {
            throw ServerFault("no port to listen on: errno \(errno)")
        }
        return listener
    }

    static func connected(to port: Int) throws -> LoopbackSocket {
        let client = try LoopbackSocket(descriptor: socket(AF_INET, streamSocket, 0))
        guard unsafe withAddress(port, { unsafe connect(client.descriptor, $0, $1) }) == 0 else {
            throw ServerFault("nothing listens on port \(port): errno \(errno)")
        }
        client.set(CInt(IPPROTO_TCP), TCP_NODELAY, 1)
        return client
    }

    /// A port that nobody listens on; another process may take it before it is used.
    static func freePort() throws -> Int { try listening().port }

    private static func withAddress(
        _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    var port: Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private func set(_ level: CInt, _ option: CInt, _ value: CInt) {
        var value = value
        _ = unsafe setsockopt(
            descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Ends reads and writes that take longer.
    func limitTime(to seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    func stopBlocking() {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    /// Makes the close send a TCP reset.
    func resetOnClose() {
        var now = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    func accepted() -> LoopbackSocket? {
        guard let socket = try? LoopbackSocket(descriptor: acceptNext(descriptor)) else {
            return nil
        }
        socket.set(CInt(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    func read() -> Piece {
        var chunk = Data(count: 65_536)
        let got = unsafe chunk.withUnsafeMutableBytes {
            unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
        }
        if got > 0 { return .bytes(chunk.prefix(got)) }
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? .nothing : .end
    }

    /// Writes what fits.
    /// - Returns: How many bytes; nil if the connection has ended.
    func write(_ data: Data) -> Int? {
        let sent = unsafe data.withUnsafeBytes {
            unsafe send(descriptor, $0.baseAddress, $0.count, noSignal)
        }
        if sent >= 0 { return sent }
        return errno == EAGAIN || errno == EINTR ? 0 : nil
    }
}

private func closeDescriptor(_ descriptor: CInt) { close(descriptor) }

private func acceptNext(_ listener: CInt) -> CInt { accept(listener, nil, nil) }

/// What went wrong with a server of the tests.
package struct ServerFault: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
