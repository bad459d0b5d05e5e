// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// The URL of servers, such as `redis://user:password@host:6379,other:6380/0`.
struct ValkeyURL: Sendable {
    private(set) var addresses: [NodeAddress] = []
    private(set) var credentials: Credentials?
    private(set) var database = 0
    private(set) var isSecure = false

    static let defaultPort: UInt16 = 6379
    private static let addressLimit = 64
    private static let schemes = ["redis": false, "valkey": false, "rediss": true, "valkeys": true]

    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` with a remedy. The text does not
    ///   contain the URL, which may contain a password.
    init(_ text: String) throws {
        guard let colon = text.range(of: "://") else {
            throw Self.fault("the URL needs a scheme: write redis://host:6379/0")
        }
        let scheme = text[..<colon.lowerBound].lowercased()
        var rest = text[colon.upperBound...]
        if scheme == "unix" {
            try readSocket(rest)
            return
        }
        guard let isSecure = Self.schemes[scheme] else {
            throw Self.fault("the scheme must be redis, or rediss for TLS, or unix for a socket")
        }
        self.isSecure = isSecure
        if rest.contains("?") || rest.contains("#") {
            throw Self.fault(
                "the URL has a query or a fragment; escape ? as %3F and # as %23 in a password")
        }
        // The last `@` ends the password, which may contain an unescaped `@`.
        if let at = rest.lastIndex(of: "@") {
            try readUser(rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        if let slash = rest.firstIndex(of: "/") {
            try readDatabase(rest[rest.index(after: slash)...])
            rest = rest[..<slash]
        }
        for part in rest.split(separator: ",", omittingEmptySubsequences: false) {
            addresses.append(try Self.address(part))
        }
        if addresses.count > Self.addressLimit {
            throw Self.fault("the URL has more than \(Self.addressLimit) hosts; list fewer")
        }
    }

    private mutating func readSocket(_ text: Substring) throws {
        var path = text
        if let mark = text.firstIndex(of: "?") {
            path = text[..<mark]
            let query = text[text.index(after: mark)...]
            guard query.hasPrefix("db=") else {
                throw Self.fault(
                    "the query of a socket may be only db=NUMBER: unix:///run/redis.sock?db=0")
            }
            try readDatabase(query.dropFirst(3))
        }
        let decoded = try Self.decoded(path, "path")
        guard decoded.hasPrefix("/"), decoded.count > 1 else {
            throw Self.fault("the path of a socket begins with a slash: unix:///run/redis.sock")
        }
        addresses = [NodeAddress(host: decoded, port: 0)]
    }

    private mutating func readUser(_ text: Substring) throws {
        guard let colon = text.firstIndex(of: ":") else {
            throw Self.fault(
                "write a password after a colon: redis://:password@host or"
                    + " redis://user:password@host")
        }
        let user = try Self.decoded(text[..<colon], "user")
        let password = try Self.decoded(text[text.index(after: colon)...], "password")
        if password.isEmpty, user.isEmpty { return }
        if password.isEmpty {
            throw Self.fault("a user needs a password: redis://user:password@host")
        }
        credentials = Credentials(user: user.isEmpty ? nil : user, password: password)
    }

    private mutating func readDatabase(_ text: Substring) throws {
        if text.isEmpty { return }
        guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int32(text) else {
            throw Self.fault("after the host, write the number of a database: redis://host:6379/0")
        }
        database = Int(number)
    }

    private static func address(_ text: Substring) throws -> NodeAddress {
        var host = text
        var port: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else {
                throw fault("write an IPv6 address in brackets: redis://[::1]:6379")
            }
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":"), host.contains(":") else {
                throw fault("write an IPv6 address in brackets: redis://[::1]:6379")
            }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
            if port?.contains(":") == true {
                throw fault("write an IPv6 address in brackets: redis://[::1]:6379")
            }
        }
        let isLegal = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x25 }
        guard !host.isEmpty, isLegal, host.utf8.count <= 255 else {
            throw fault("a host is missing or has characters that no host has: redis://host:6379/0")
        }
        guard let port else { return NodeAddress(host: String(host), port: defaultPort) }
        guard let number = UInt16(port), number > 0 else {
            throw fault("a port is a number from 1 to 65535: redis://host:6379/0")
        }
        return NodeAddress(host: String(host), port: number)
    }

    private static func decoded(_ text: Substring, _ what: String) throws -> String {
        guard let decoded = String(text).removingPercentEncoding, !decoded.contains("\0") else {
            throw fault("the \(what) has a broken percent-encoding; write % as %25")
        }
        return decoded
    }

    private static func fault(_ text: String) -> ClientError {
        ClientError(.configuration, "this URL of a Valkey or Redis server cannot be used: \(text)")
    }
}

extension ValkeyURL: DescriptionReflectable {
    /// Whether the traffic is encrypted or stays on the machine.
    var hidesTraffic: Bool { isSecure || addresses.allSatisfy(\.isLocal) }

    var description: String {
        var user = ""
        if let credentials { user = "\(credentials.user ?? ""):\(Redaction.mark)@" }
        let hosts = addresses.map(\.description).joined(separator: ",")
        if addresses.first?.host.hasPrefix("/") == true { return "unix://\(hosts)?db=\(database)" }
        return "\(isSecure ? "rediss" : "redis")://\(user)\(hosts)/\(database)"
    }
}

/// The address of a node, which is a host and a port, or the path of a socket.
struct NodeAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name, an IP address without brackets, or a path that begins with `/`.
    let host: String
    let port: UInt16

    var description: String {
        if host.hasPrefix("/") { return host }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    var isLocal: Bool {
        host.hasPrefix("/") || host == "localhost" || host == "::1"
            || (host.hasPrefix("127.") && host.utf8.allSatisfy { $0 < 0x3A })
    }

    /// The maximum number of bytes of a host, above the 253 of RFC 1035 §2.3.4.
    private static let hostLimit = 255

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Creates the address that a server has reported, or returns nil if the address is invalid.
    ///
    /// An empty host means the host of the server.
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

    /// Creates the address of a redirect, such as `127.0.0.1:6381` or an IPv6 address without
    /// brackets.
    init?(redirect text: Substring, by server: NodeAddress) {
        guard let colon = text.lastIndex(of: ":"),
            let port = Int64(text[text.index(after: colon)...])
        else { return nil }
        self.init(named: String(text[..<colon]), port: port, by: server)
    }
}

struct Credentials: Sendable, DescriptionReflectable {
    let user: String?
    let password: String

    var description: String { Redaction.mark }

    var arguments: [Data] {
        (["AUTH"] + [user].compactMap(\.self) + [password]).map { Data($0.utf8) }
    }
}
