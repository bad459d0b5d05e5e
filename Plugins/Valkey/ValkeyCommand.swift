// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// A command: its name and arguments, as bytes.
public struct ValkeyCommand: Sendable, Hashable {
    /// The name and the arguments.
    public var arguments: [Data]
    /// The key that decides which node of a cluster gets it; nil for any node.
    public var key: Data?

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
}

extension ValkeyCommand: DescriptionReflectable {
    /// The name and the number of arguments, which may be secrets.
    public var description: String {
        let name = String(decoding: arguments.first ?? Data(), as: UTF8.self)
        return "\(ValkeyFault.shown(name)) (\(max(arguments.count - 1, 0)) arguments)"
    }
}
