// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeSupport

#if canImport(Glibc)
private let streamSocket = CInt(SOCK_STREAM.rawValue)
private let noSignal = CInt(MSG_NOSIGNAL)
private let peek = CInt(MSG_PEEK)
private let notWaiting = CInt(MSG_DONTWAIT)
#elseif canImport(Musl)
private let streamSocket = SOCK_STREAM
private let noSignal = MSG_NOSIGNAL
private let peek = MSG_PEEK
private let notWaiting = MSG_DONTWAIT
#elseif canImport(Darwin)
private let streamSocket = SOCK_STREAM
private let noSignal: CInt = 0
private let peek = MSG_PEEK
private let notWaiting = MSG_DONTWAIT
#endif

final class TestSocket: Sendable {
    private let descriptor: CInt
    // Locked while the descriptor is shut down or closed. Without the lock, a call could affect
    // another socket with the same number.
    private let isClosed = Mutex(false)

    private init(descriptor: CInt) { self.descriptor = descriptor }

    deinit { close() }

    static func listening() throws -> TestSocket {
        let socket = TestSocket(descriptor: makeSocket())
        var yes: CInt = 1
        _ = unsafe setsockopt(
            socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(socket.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, listen(socket.descriptor, 1024) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        return socket
    }

    // Child processes must not inherit a socket, because they would keep the connection open.
    private static func makeSocket() -> CInt {
        closedInChildren(socket(AF_INET, streamSocket, 0))
    }

    func localPort() throws -> Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Waits for the next connection, or returns nil after ``shutDown()``.
    ///
    /// If no descriptor is free, the peer waits until one is free, and so does the end.
    func accept(whileFull pause: () -> Void = { usleep(10_000) }) -> TestSocket? {
        while true {
            let accepted = Self.acceptNext(descriptor)
            if accepted >= 0 {
                var yes: CInt = 1
                _ = unsafe setsockopt(
                    accepted, CInt(IPPROTO_TCP), TCP_NODELAY, &yes,
                    socklen_t(MemoryLayout<CInt>.size))
                return TestSocket(descriptor: accepted)
            }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE: pause()
            default: return nil
            }
        }
    }

    private static func acceptNext(_ listener: CInt) -> CInt {
        #if canImport(Darwin)
        closedInChildren(unsafe Darwin.accept(listener, nil, nil))
        #elseif canImport(Musl)
        closedInChildren(unsafe Musl.accept(listener, nil, nil))
        #else
        closedInChildren(Glibc.accept(listener, nil, nil))
        #endif
    }

    // If there is no descriptor, `errno` stays unchanged.
    private static func closedInChildren(_ descriptor: CInt) -> CInt {
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return descriptor
    }

    /// Returns the next bytes, or nil at the end of the connection or at the deadline.
    func read(before deadline: ContinuousClock.Instant? = nil) -> Data? {
        let flags = deadline == nil ? 0 : notWaiting
        var chunk = Data(count: 65_536)
        while true {
            if let deadline, !waits(for: POLLIN, before: deadline) { return nil }
            let got = unsafe chunk.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, $0.count, flags)
            }
            if got > 0 { return chunk.prefix(got) }
            if got == 0 || (errno != EINTR && errno != EAGAIN) { return nil }
        }
    }

    /// Writes all bytes, or returns false if the peer closes first or the deadline passes.
    func write(_ data: Data, before deadline: ContinuousClock.Instant? = nil) -> Bool {
        let flags = deadline == nil ? noSignal : noSignal | notWaiting
        return unsafe data.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                if let deadline, !waits(for: POLLOUT, before: deadline) { return false }
                let sent = unsafe send(
                    descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done, flags)
                if sent >= 0 {
                    done += sent
                } else if errno != EINTR && errno != EAGAIN {
                    return false
                }
            }
            return true
        }
    }

    // The value is POLLRDHUP on Linux, which Swift does not import.
    #if os(Linux)
    private static let hangup: Int16 = 0x2000
    #else
    private static let hangup: Int16 = 0
    #endif

    /// Waits for a time, and returns whether the peer has closed the connection.
    func peerIsGone(within duration: Duration) -> Bool {
        let milliseconds = max(1, Int(duration / .milliseconds(1)))
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN) | Self.hangup, revents: 0)
        guard unsafe poll(&entry, 1, CInt(milliseconds)) > 0 else { return false }
        // The events are checked first, because the peek does not detect an end after unread bytes.
        if entry.revents & (Self.hangup | Int16(POLLHUP) | Int16(POLLERR)) != 0 { return true }
        var byte: UInt8 = 0
        let got = unsafe recv(descriptor, &byte, 1, peek | notWaiting)
        if got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) { return true }
        // If early bytes of the next request have arrived, `poll` returns at once.
        usleep(1000)
        return false
    }

    // Waits until the socket is readable, writable or broken, or returns false after the deadline.
    private func waits(for event: CInt, before deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let rest = (deadline - ContinuousClock.now) / .milliseconds(1)
            guard rest > 0 else { return false }
            var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
            let milliseconds = CInt(min(rest, 60_000).rounded(.up))
            let ready = unsafe poll(&entry, 1, milliseconds)
            if ready > 0 { return true }
            if ready < 0 && errno != EINTR { return false }
        }
    }

    func resetOnClose() {
        var now = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    /// Wakes threads that read from or write to the socket.
    func shutDown() {
        isClosed.withLock { isClosed in
            if !isClosed { _ = shutdown(descriptor, CInt(2)) }
        }
    }

    func close() {
        isClosed.withLock { isClosed in
            if !isClosed { _ = closeDescriptor(descriptor) }
            isClosed = true
        }
    }
}

private func closeDescriptor(_ descriptor: CInt) -> CInt { close(descriptor) }
