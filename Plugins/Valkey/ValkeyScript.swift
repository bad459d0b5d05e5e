// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A Lua script that a server runs as one step.
///
/// Keep it in a constant: a copy knows the digest that a server has told of it, a new value does not.
public struct ValkeyScript: Sendable, Hashable {
    /// What is known of the digest (SHA-1), by which a server finds a script that it has seen.
    enum Digest: Sendable {
        case unknown
        /// A server is being asked.
        case asked
        case known(Data)
        /// No server may be asked.
        case withheld
    }

    final class Memory: Sendable {
        let digest = Mutex(Digest.unknown)
        let source: Data

        init(_ source: String) { self.source = Data(source.utf8) }
    }

    /// The source.
    public let source: String
    let memory: Memory

    /// Creates a script.
    public init(_ source: String) {
        self.source = source
        memory = Memory(source)
    }

    /// Whether two scripts have the same source.
    public static func == (left: Self, right: Self) -> Bool { left.source == right.source }

    /// Hashes the source.
    public func hash(into hasher: inout Hasher) { hasher.combine(source) }
}
