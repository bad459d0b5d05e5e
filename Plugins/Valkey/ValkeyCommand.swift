// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// A command: its name and arguments, as bytes.
public struct ValkeyCommand: Sendable {
    /// The name and the arguments.
    public var arguments: [Data] {
        didSet { wire = nil }
    }
    /// The key that decides which node of a cluster gets it; nil for any node.
    public var key: Data?
    /// The bytes that are sent, if they were made before.
    private(set) var wire: [UInt8]?

    /// Creates a command.
    /// - Parameters:
    ///   - arguments: The name and the arguments.
    ///   - key: The key that decides which node of a cluster gets it; nil for any node.
    public init(_ arguments: [Data], key: Data? = nil) {
        self.arguments = arguments
        self.key = key
    }

    /// Creates a command of texts.
    public init(_ name: String, _ arguments: String..., key: String? = nil) {
        self.init(([name] + arguments).map { Data($0.utf8) }, key: key.map { Data($0.utf8) })
    }

    /// The same command with the bytes that are sent, so that they are not made again each time.
    ///
    /// For a command that is kept and sent often. It needs libhiredis, so that it is of use once a
    /// ``ValkeyServer`` was made.
    public var prepared: ValkeyCommand {
        var command = self
        command.wire = Wire.prepared(arguments)
        return command
    }
}

extension ValkeyCommand: Hashable {
    /// Whether two commands have the same arguments and the same key.
    public static func == (left: Self, right: Self) -> Bool {
        left.arguments == right.arguments && left.key == right.key
    }

    /// Hashes the arguments and the key.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(arguments)
        hasher.combine(key)
    }
}

extension ValkeyCommand: DescriptionReflectable {
    /// The name and the number of arguments, which may be secrets.
    public var description: String {
        let name = String(decoding: arguments.first ?? Data(), as: UTF8.self)
        return "\(ValkeyFault.shown(name)) (\(max(arguments.count - 1, 0)) arguments)"
    }
}
