// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
import TurnpikeSupport

/// The name and the arguments of a command, as bytes.
public struct ValkeyCommand: Sendable, Hashable {
    /// The name and the arguments.
    public var arguments: [Data]
    /// The key that selects the node of a cluster for the command, or nil for any node.
    public var key: Data?

    /// Creates a command.
    /// - Parameters:
    ///   - arguments: The name and the arguments.
    ///   - key: The key that selects the node of a cluster, or nil for any node.
    public init(_ arguments: [Data], key: Data? = nil) {
        self.arguments = arguments
        self.key = key
    }

    /// Creates a command from texts.
    public init(_ name: String, _ arguments: String..., key: String? = nil) {
        self.init(([name] + arguments).map { Data($0.utf8) }, key: key.map { Data($0.utf8) })
    }
}

extension ValkeyCommand: DescriptionReflectable {
    /// The name and the number of arguments.
    ///
    /// The description omits the arguments, which may be secrets.
    public var description: String {
        let name = String(decoding: arguments.first ?? Data(), as: UTF8.self)
        return "\(ValkeyFault.shown(name)) (\(max(arguments.count - 1, 0)) arguments)"
    }
}

/// A Lua script that a server runs as one step.
///
/// Store the script in a constant, because each initializer call computes a digest.
public struct ValkeyScript: Sendable, Hashable {
    /// The source text.
    public let source: String
    let digest: Data

    /// Creates a script.
    public init(_ source: String) {
        self.source = source
        digest = Data(SHA1.digest(of: Data(source.utf8)).hexadecimal.utf8)
    }
}

/// A reply of a server (RESP2).
public enum ValkeyValue: Sendable, Hashable {
    /// The null reply, because the requested value does not exist.
    case null
    /// A short text, such as `OK`.
    case status(String)
    /// An integer.
    case integer(Int64)
    /// A bulk string.
    case bytes(Data)
    /// An array of values.
    case array([ValkeyValue])
    /// An error within an array; the client throws an error that is a whole reply.
    case error(String)
}

extension ValkeyValue: DescriptionReflectable {
    /// The kind of value.
    ///
    /// The text contains the number of bytes, and not the bytes, which may be secret.
    public var description: String {
        switch self {
        case .null: "null"
        case .status(let text): text
        case .integer(let number): String(number)
        case .bytes(let data): "(\(data.count) bytes)"
        case .array(let values): "[\(values.map(\.description).joined(separator: ", "))]"
        case .error(let text): "error: \(ValkeyFault.told(text))"
        }
    }
}

enum Wire {
    /// The maximum number of bytes of an argument that a server accepts (`proto-max-bulk-len`).
    private static let mostBytes = 512 << 20

    static func bytes(_ arguments: [Data]) -> [UInt8]? {
        let total = arguments.reduce(0) { $0 + $1.count }
        guard !arguments.isEmpty, arguments.count < 1 << 20, total <= mostBytes else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(total + 16 * (arguments.count + 1))
        bytes += "*\(arguments.count)\r\n".utf8
        for argument in arguments {
            bytes += "$\(argument.count)\r\n".utf8
            bytes += argument
            bytes += "\r\n".utf8
        }
        return bytes
    }

    static func bytes(_ arguments: String...) -> [UInt8] {
        bytes(arguments.map { Data($0.utf8) }) ?? []
    }

    static let asking = bytes("ASKING")
    static let slots = bytes("CLUSTER", "SLOTS")
}
