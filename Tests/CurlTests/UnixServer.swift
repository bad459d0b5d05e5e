// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
private let streamSocket = CInt(SOCK_STREAM.rawValue)
#elseif canImport(Musl)
import Musl
private let streamSocket = SOCK_STREAM
#else
import Darwin
private let streamSocket = SOCK_STREAM
#endif

/// An HTTP server on a Unix socket that answers with the target and the host, or with parts of a
/// test's own.
final class UnixServer: Sendable {
    let path = "/tmp/turnpike-\(UUID().uuidString.prefix(8)).sock"
    private let descriptor: CInt

    // Each part but the first waits for a signal.
    init(parts: [String] = [], next: DispatchSemaphore? = nil) throws {
        let descriptor = socket(AF_UNIX, streamSocket, 0)
        self.descriptor = descriptor
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            unsafe bytes.copyBytes(from: path.utf8)
        }
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(descriptor, 8) == 0 else { throw POSIXError(.EIO) }
        // Ends when `stop` shuts the socket down. It closes the socket itself, because it would
        // otherwise accept connections of a later socket with the same number.
        Thread.detachNewThread {
            while case let client = accept(descriptor, nil, nil), client >= 0 {
                Self.answer(client, parts, next)
                close(client)
            }
            close(descriptor)
        }
    }

    func stop() {
        _ = shutdown(descriptor, CInt(2))
        unsafe unlink(path)
    }

    private static func answer(_ client: CInt, _ parts: [String], _ next: DispatchSemaphore?) {
        var head = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(client, &head, head.count)
        let lines = String(decoding: head.prefix(max(count, 0)), as: UTF8.self)
            .components(separatedBy: "\r\n")
        let target = lines[0].split(separator: " ").dropFirst().first ?? ""
        let host = lines.first { $0.hasPrefix("Host: ") }?.dropFirst(6) ?? ""
        let content = "\(target) at \(host)"
        let text = "HTTP/1.1 200 OK\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)"
        for (index, part) in (parts.isEmpty ? [text] : parts).enumerated() {
            if index > 0 { next?.wait() }
            _ = unsafe Array(part.utf8).withUnsafeBytes { bytes in
                unsafe write(client, bytes.baseAddress, bytes.count)
            }
        }
    }
}

/// A socket that listens, and takes no more connections.
final class FullListener {
    let port: Int
    private var descriptors: [CInt] = []

    /// Listens on a port of `::1`.
    init(ipv6Port: Int) throws {
        let listener = socket(AF_INET6, streamSocket, 0)
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        address.sin6_port = in_port_t(UInt16(ipv6Port).bigEndian)
        let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let result = unsafe bind(listener, pointer, size)
                _ = listen(listener, 0)
                return result
            }
        }
        guard bound == 0 else { throw POSIXError(.EADDRINUSE) }
        port = ipv6Port
        descriptors = [listener]
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe fill($0, size, AF_INET6)
            }
        }
    }

    init() throws {
        let listener = socket(AF_INET, streamSocket, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let size = length
        let bound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let result = unsafe bind(listener, pointer, size)
                _ = listen(listener, 0)
                _ = unsafe getsockname(listener, pointer, &length)
                return result
            }
        }
        guard bound == 0 else { throw POSIXError(.EIO) }
        port = Int(UInt16(bigEndian: address.sin_port))
        descriptors = [listener]
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe fill($0, size, AF_INET)
            }
        }
    }

    // The queue has room for one; those that come then wait for an answer.
    private func fill(_ address: UnsafePointer<sockaddr>, _ size: socklen_t, _ family: CInt) {
        for _ in 0..<4 {
            let client = socket(family, streamSocket, 0)
            _ = fcntl(client, F_SETFL, O_NONBLOCK)
            _ = unsafe connect(client, address, size)
            descriptors.append(client)
        }
    }

    func close() { for descriptor in descriptors { closeDescriptor(descriptor) } }
}

private func closeDescriptor(_ descriptor: CInt) { close(descriptor) }
