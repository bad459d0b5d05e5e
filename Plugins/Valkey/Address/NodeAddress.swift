// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// Where a node listens: a host and a port, or the path of a socket.
struct NodeAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name, an IP address without brackets, or a path that begins with `/`.
    let host: String
    let port: UInt16

    var description: String {
        if host.hasPrefix("/") { return host }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The most bytes of a host (RFC 1035 §2.3.4 has 253).
    private static let hostLimit = 255

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Creates the address that a server named, if it may be one.
    /// - Parameters:
    ///   - host: The host; empty for the host of the server that named it.
    ///   - port: The port.
    ///   - server: The address of that server.
    init?(named host: String, port: Int64, by server: NodeAddress) {
        guard let port = UInt16(exactly: port), port > 0 else { return nil }
        if host.isEmpty {
            self.init(host: server.host, port: port)
            return
        }
        guard host.utf8.count <= Self.hostLimit, host != "?", !host.hasPrefix("/"),
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        self.init(host: host, port: port)
    }

    /// Creates the address of a redirect: `127.0.0.1:6381`, with an IPv6 address unquoted.
    init?(redirect text: Substring, by server: NodeAddress) {
        guard let colon = text.lastIndex(of: ":"),
            let port = Int64(text[text.index(after: colon)...])
        else { return nil }
        self.init(named: String(text[..<colon]), port: port, by: server)
    }
}

/// The user and the password of a connection, which nothing prints.
struct Credentials: Sendable, DescriptionReflectable {
    /// The user of an ACL; nil for a password alone.
    let user: String?
    let password: String

    var description: String { Redaction.mark }

    /// The arguments of `AUTH`.
    var arguments: [Data] {
        (["AUTH"] + [user].compactMap(\.self) + [password]).map { Data($0.utf8) }
    }
}
