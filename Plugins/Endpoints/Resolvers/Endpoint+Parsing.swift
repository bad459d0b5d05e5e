// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension Endpoint {
    /// Creates an endpoint from text: `10.0.0.7:8080`, `users-1.internal:8080`, `[2001:db8::7]:8080`
    /// or `unix:/run/users.sock`.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` with what was found and expected.
    public init(parsing text: String, weight: Double = 1, zone: String? = nil) throws {
        let target: ConnectTarget
        do throws(EndpointFault) {
            target = try Self.target(of: text)
        } catch {
            throw ClientError(.configuration, error.message)
        }
        self.init(target, weight: weight, zone: zone)
    }

    /// Returns the target that a text with a port, or with the path of a socket, names.
    static func target(of text: String) throws(EndpointFault) -> ConnectTarget {
        let target: ConnectTarget
        if let path = path(in: text) {
            target = .unixSocket(path)
        } else {
            guard let port = text.utf8.lastIndex(of: UInt8(ascii: ":")),
                text.utf8.last != UInt8(ascii: "]"), !text.contains("://")
            else { throw expected(text) }
            let host = String(text[..<port])
            guard let number = Self.port(text[text.utf8.index(after: port)...]) else {
                throw expected(text)
            }
            target = .host(try name(host, in: text), port: number)
        }
        if let fault = target.fault { throw EndpointFault(fault) }
        return target
    }

    /// Returns the target that an address names with its port, or together with one.
    static func target(
        address text: String, port: Int?
    ) throws(EndpointFault) -> ConnectTarget {
        guard let port else { return try target(of: text) }
        if path(in: text) != nil {
            throw EndpointFault("found a \"port\" beside a Unix socket; expected none")
        }
        let isBracketed =
            text.utf8.first == UInt8(ascii: "[") && text.utf8.last == UInt8(ascii: "]")
        let host = isBracketed ? String(text.dropFirst().dropLast()) : text
        let target = ConnectTarget.host(host, port: port)
        if let fault = target.fault { throw EndpointFault(fault) }
        return target
    }

    // The path in `unix:/run/users.sock`; nil for other text.
    private static func path(in text: String) -> String? {
        text.hasPrefix("unix:") ? String(text.dropFirst("unix:".count)) : nil
    }

    private static func name(
        _ host: String, in text: String
    ) throws(EndpointFault) -> String {
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]"),
            host.contains(":"), IPAddress(host) != nil
        {
            return String(host.dropFirst().dropLast())
        }
        if host.contains(":") { throw expected(text) }
        return host
    }

    private static func port(_ digits: Substring) -> Int? {
        guard (1...5).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 })
        else { return nil }
        return Int(digits)
    }

    private static func expected(_ text: String) -> EndpointFault {
        let size = text.utf8.count
        let found =
            size > 300 ? "\(size) bytes of text" : "\"\(Grammar.escaped(text, upTo: 80))\""
        return EndpointFault(
            "found \(found); expected an address with its port, as 10.0.0.7:8080,"
                + " users-1.internal:8080, [2001:db8::7]:8080 or unix:/run/users.sock")
    }
}
