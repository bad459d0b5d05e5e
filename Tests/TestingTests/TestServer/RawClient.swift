// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
import Glibc
private let streamSocket = CInt(SOCK_STREAM.rawValue)
#elseif canImport(Musl)
import Musl
private let streamSocket = SOCK_STREAM
#elseif canImport(Darwin)
import Darwin
private let streamSocket = SOCK_STREAM
#endif

/// A connection to a port of this machine, which says nothing by itself.
final class RawConnection: Sendable {
    private let descriptor: CInt

    /// Connects; returns nil if nobody listens.
    init?(port: Int) {
        descriptor = socket(AF_INET, streamSocket, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return nil }
    }

    deinit { close(descriptor) }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe send(descriptor, bytes, bytes.count, 0)
    }

    /// Waits for what comes until the peer closes.
    func readToEnd() -> Data {
        var content = Data()
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let got = unsafe recv(descriptor, &chunk, chunk.count, 0)
            if got <= 0 { return content }
            content.append(contentsOf: chunk.prefix(got))
        }
    }
}

/// Sends bytes to a port of this machine and gives what comes until the peer closes.
///
/// It works on a thread of its own, since it blocks.
func rawExchange(port: Int, _ text: String) async -> String {
    await withCheckedContinuation { continuation in
        let thread = Thread {
            let connection = RawConnection(port: port)
            connection?.write(text)
            let answer = connection?.readToEnd() ?? Data()
            continuation.resume(returning: String(decoding: answer, as: UTF8.self))
        }
        thread.start()
    }
}
