// SPDX-License-Identifier: Apache-2.0

/// The address of a peer in its parts: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::7]:80`, or the path of
/// a Unix socket.
struct TracePeer {
    /// The address without its port, or the path.
    let host: String
    let port: Int?

    /// Whether it is the path of a Unix socket.
    var isPath: Bool { host.hasPrefix("/") }

    init(_ address: String) {
        let end = address.lastIndex(of: ":")
        let isBracketed = address.hasPrefix("[")
        let hasPort =
            !address.hasPrefix("/") && end != nil
            && (isBracketed ? !address.hasSuffix("]") : end == address.firstIndex(of: ":"))
        guard hasPort || isBracketed else {
            (host, port) = (address, nil)
            return
        }
        host =
            isBracketed
            ? String(address.dropFirst().prefix { $0 != "]" })
            : String(address.prefix { $0 != ":" })
        port = hasPort ? end.flatMap { Int(address[address.index(after: $0)...]) } : nil
    }
}
