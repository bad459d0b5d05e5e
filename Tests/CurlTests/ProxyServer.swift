// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

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

/// Passes what comes on to one port of this machine, whatever the client asks for: as a SOCKS 5 proxy,
/// by CONNECT, or as if it were the server itself; all connections at once, or one after another.
final class ProxyServer: Sendable {
    /// What clients asked for: the host and port, and a credential where one came.
    struct Asked: Hashable {
        var host = ""
        var credential = ""
        var agent = ""
        /// The client's own address.
        var client = ""
    }

    let port: Int
    private let listener: CInt
    private let target: Int
    private let isSerial: Bool
    private let socksReply: UInt8
    private let refusesUsers: Bool
    private let kept = Mutex<[Asked]>([])

    var asked: [Asked] { kept.withLock { $0 } }

    // `socksReply` is a code of RFC 1928 §6; 0 for success.
    init(
        to target: Int, isIPv6: Bool = false, isSerial: Bool = false, socksReply: UInt8 = 0,
        refusesUsers: Bool = false
    ) throws {
        self.target = target
        self.isSerial = isSerial
        self.socksReply = socksReply
        self.refusesUsers = refusesUsers
        listener = socket(isIPv6 ? AF_INET6 : AF_INET, streamSocket, 0)
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        if isIPv6 {
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
        } else {
            address.sin6_family = sa_family_t(AF_INET)
        }
        let size = isIPv6 ? length : socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                // Family and port stand in the same places for both; 0.0.0.0 takes all of loopback.
                let isBound = unsafe bind(listener, pointer, size) == 0
                _ = unsafe getsockname(listener, pointer, &length)
                return isBound && listen(listener, 16) == 0
            }
        }
        guard isBound else { throw POSIXError(.EIO) }
        port = Int(UInt16(bigEndian: address.sin6_port))
        // Ends when `stop` shuts the socket down.
        Thread.detachNewThread { self.run() }
    }

    // The thread that accepts closes it: its number would be another's while that still uses it.
    func stop() { _ = shutdown(listener, CInt(2)) }

    private func run() {
        defer { close(listener) }
        while true {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let client = unsafe withUnsafeMutablePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe accept(listener, $0, &length)
                }
            }
            guard client >= 0 else { return }
            let bytes = unsafe withUnsafeBytes(of: address.sin_addr) { unsafe Array($0) }
            let peer = bytes.map(String.init).joined(separator: ".")
            if isSerial {
                serve(Connection(client), peer)
            } else {
                // Ends with the connection.
                Thread.detachNewThread { self.serve(Connection(client), peer) }
            }
        }
    }

    private func serve(_ client: Connection, _ peer: String) {
        defer { client.end() }
        guard let first = client.read(1)?.first else { return }
        if first == 0x16 {
            // The record of a TLS handshake: answered as servers without TLS do.
            return client.write(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        }
        var asked = Asked(client: peer)
        if first == 5, !socks(client, &asked) { return }
        guard let server = Connection(port: target) else { return }
        defer { server.end() }
        if first != 5 {
            var head = [first]
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), let byte = client.read(1) {
                head += byte
            }
            let text = String(decoding: head, as: UTF8.self)
            let words = text.split(separator: " ")
            if words.first == "CONNECT", words.count > 1 {
                asked.host = String(words[1])
                let lines = text.components(separatedBy: "\r\n")
                asked.credential = lines.first { $0.hasPrefix("Proxy-Authorization") } ?? ""
                asked.agent = lines.first { $0.hasPrefix("User-Agent") } ?? ""
                client.write(Array("HTTP/1.1 200 Connected\r\n\r\n".utf8))
            } else {
                server.write(head)
            }
        }
        kept.withLock { $0.append(asked) }
        Thread.detachNewThread {
            server.relay(to: client)
            client.end()
        }
        client.relay(to: server)
    }

    // RFC 1928, and RFC 1929 for a name and a password.
    private func socks(_ client: Connection, _ asked: inout Asked) -> Bool {
        guard let count = client.read(1)?.first, let methods = client.read(Int(count)) else {
            return false
        }
        if methods.contains(2) {
            client.write([5, 2])
            guard let head = client.read(2), let user = client.read(Int(head[1])),
                let length = client.read(1)?.first, let password = client.read(Int(length))
            else { return false }
            asked.credential = String(decoding: user + [0x3A] + password, as: UTF8.self)
            client.write([1, refusesUsers ? 1 : 0])
            if refusesUsers { return false }
        } else {
            client.write([5, 0])
        }
        guard let request = client.read(4) else { return false }
        switch request[3] {
        case 1: asked.host = client.read(4)?.map(String.init).joined(separator: ".") ?? ""
        case 3:
            let length = client.read(1)?.first ?? 0
            asked.host = String(decoding: client.read(Int(length)) ?? [], as: UTF8.self)
        default: return false
        }
        guard let port = client.read(2) else { return false }
        asked.host += ":\(Int(port[0]) << 8 | Int(port[1]))"
        client.write([5, socksReply, 0, 1, 0, 0, 0, 0, 0, 0])
        return socksReply == 0
    }
}

/// A connected socket, used by blocking calls on threads of its own.
private struct Connection: Sendable {
    private let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    init?(port: Int) {
        descriptor = socket(AF_INET, streamSocket, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        let descriptor = descriptor
        let isThere = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if !isThere { return nil }
    }

    func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let taken = unsafe recv(descriptor, &bytes, count, CInt(MSG_WAITALL))
        return taken == count ? bytes : nil
    }

    func write(_ bytes: [UInt8]) {
        _ = unsafe bytes.withUnsafeBytes { bytes in
            unsafe send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
        }
    }

    func relay(to other: Connection) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            other.write(Array(bytes.prefix(count)))
        }
        other.finish()
    }

    func finish() { _ = shutdown(descriptor, CInt(1)) }

    func end() { _ = shutdown(descriptor, CInt(2)) }
}
