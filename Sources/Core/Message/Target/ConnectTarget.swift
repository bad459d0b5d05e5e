// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The place to connect to, instead of the host of the request's URL.
///
/// Only the place of the connection differs. The URL, the origin, the `Host` field, cookies, cache
/// keys, credentials and labels are those of the request. TLS asks for the name in the URL, and the
/// certificate must have this name. If a transport lacks ``TransportCapabilities/connectTargets``,
/// it refuses such a request.
///
/// A gate that balances load sets the target for each attempt (``RequestOptions/connectTarget``).
/// The options `--connect-to` and `--unix-socket` of curl have the same effect.
public enum ConnectTarget: Hashable, Sendable {
    /// A host and its port; the host is a name or an IP address, without brackets for IPv6.
    case host(String, port: Int)
    /// The path of a Unix domain socket.
    case unixSocket(String)

    /// The fault of the target, with the found value and the expected value; nil if valid.
    public var fault: String? {
        switch self {
        case .host(let host, let port):
            if !(1...65535).contains(port) {
                return "found the port \(port) of an endpoint; expected 1 to 65535"
            }
            // A zone is the name of an interface of this machine, and can be any text.
            let isPlain = !host.utf8.contains { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "%") }
            if isPlain, IPv6Text.parse(host) != nil { return nil }
            let isHost =
                !host.isEmpty && host.utf8.count <= Self.maxHostBytes
                && host.utf8.allSatisfy(Self.isHostByte)
            return isHost
                ? nil
                : "found \"\(Grammar.escaped(host, upTo: 80))\" as an endpoint's host;"
                    + " expected an IP address or a name of at most \(Self.maxHostBytes) letters,"
                    + " digits, hyphens, underscores and dots"
        case .unixSocket(let path):
            let isPath =
                path.utf8.first == UInt8(ascii: "/") && path.utf8.count <= Self.maxPathBytes
                && !path.utf8.contains(0)
            return isPath
                ? nil
                : "found \"\(Grammar.escaped(path, upTo: 80))\" as a Unix socket; expected"
                    + " an absolute path of at most \(Self.maxPathBytes) bytes"
        }
    }

    // A name with a dot at its end (RFC 1035 §2.3.4).
    private static let maxHostBytes = 254
    // `sun_path` has 104 bytes on Darwin and 108 on Linux, with a NUL at the end.
    private static let maxPathBytes = 103

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension ConnectTarget: CustomStringConvertible {
    /// The place as text: `10.0.0.7:8080`, `[2001:db8::7]:8080` or `unix:/run/users.sock`.
    public var description: String {
        switch self {
        case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unixSocket(let path): "unix:\(path)"
        }
    }
}

private enum ConnectTargetOption: OptionKey {
    typealias Value = ConnectTarget
}

extension RequestOptions {
    /// The place to connect to for the request, if this is not the host of the URL.
    public var connectTarget: ConnectTarget? {
        get { self[ConnectTargetOption.self] }
        set { self[ConnectTargetOption.self] = newValue }
    }
}
