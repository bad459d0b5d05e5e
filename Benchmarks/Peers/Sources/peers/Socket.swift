// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Plain TCP over loopback.
enum Socket {
    /// Returns ports that were free at the time of the call.
    static func freePorts(_ count: Int) throws -> [Int] {
        var open: [CInt] = []
        defer { for descriptor in open { close(descriptor) } }
        return try (0..<count).map { _ in
            let descriptor = socket(AF_INET, stream, 0)
            open.append(descriptor)
            var address = address(port: 0)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
                }
            }
            guard isBound else { throw PeerError("there is no free port") }
            return Int(UInt16(bigEndian: address.sin_port))
        }
    }

    /// Returns the response to a GET on a new connection.
    static func get(_ path: String, port: Int) throws -> String {
        let descriptor = socket(AF_INET, stream, 0)
        defer { close(descriptor) }
        var address = address(port: port)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw PeerError("nginx does not answer any more") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        try handle.write(contentsOf: Data("GET \(path) HTTP/1.0\r\n\r\n".utf8))
        return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
    }

    private static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    #if canImport(Glibc)
    private static let stream = CInt(SOCK_STREAM.rawValue)
    #else
    private static let stream = SOCK_STREAM
    #endif
}
