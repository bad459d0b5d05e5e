// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The hosts that are reached without a proxy, by libcurl's rules (`CURLOPT_NOPROXY`): names with all
/// that ends in them, addresses, networks such as `10.0.0.0/8`, and `*` for all hosts.
///
/// libcurl asks them by itself. They are asked here where it matters before it can tell what it has
/// chosen: for a request that names where to connect to, or which addresses are allowed.
struct ProxyExceptions {
    private let text: String

    init(_ text: String) { self.text = text }

    /// Returns whether a host is among them; an IPv6 address comes without its brackets.
    func contain(_ host: String) -> Bool {
        if text == "*" { return true }
        let host = Self.withoutDot(host.lowercased()[...])
        let address = Self.bits(of: host)
        return text.lowercased().split { $0 == "," || $0.isWhitespace }.contains { entry in
            guard let address else { return Self.matches(entry, name: host) }
            return Self.matches(entry, address)
        }
    }

    private static func withoutDot(_ name: Substring) -> Substring {
        name.hasSuffix(".") ? name.dropLast() : name
    }

    private static func matches(_ entry: Substring, name: Substring) -> Bool {
        let entry = withoutDot(entry.hasPrefix(".") ? entry.dropFirst() : entry)
        if entry.isEmpty { return false }
        return name == entry || name.hasSuffix("." + entry)
    }

    private static func matches(_ entry: Substring, _ address: [UInt8]) -> Bool {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let network = bits(of: parts[0]), network.count == address.count else { return false }
        guard parts.count > 1 else { return network == address }
        guard let length = Int(parts[1]), (0...address.count).contains(length) else { return false }
        // libcurl takes no bits at all for the whole address.
        let count = length == 0 ? address.count : length
        return network.prefix(count) == address.prefix(count)
    }

    // The bits of an address in its usual form; nil for a name.
    private static func bits(of text: Substring) -> [UInt8]? {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let bare = isBracketed ? text.dropFirst().dropLast() : text
        let isIPv6 = bare.contains(":")
        guard isIPv6 || bare.split(separator: ".").count == 4, let address = IPAddress(bare) else {
            return nil
        }
        let radix = isIPv6 ? 16 : 10
        let width = isIPv6 ? 16 : 8
        return "\(address)".split(separator: isIPv6 ? ":" : ".").flatMap { group in
            let value = Int(group, radix: radix) ?? 0
            return (0..<width).reversed().map { UInt8(value >> $0 & 1) }
        }
    }
}
