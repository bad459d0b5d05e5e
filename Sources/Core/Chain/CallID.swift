// SPDX-License-Identifier: Apache-2.0

/// Identifies a call uniquely within a client, and very probably across all clients.
public struct CallID: Hashable, Sendable, CustomStringConvertible {
    /// The first part of the identifier, which all calls of a client share.
    public let client: UInt32
    /// The number of the call in the client, starting at 1.
    public let number: UInt64

    init(client: UInt32, number: UInt64) {
        self.client = client
        self.number = number
    }

    /// The client's part and the number of the call, for example `5f0c2a1b-42`.
    public var description: String {
        let digits = String(client, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits + "-\(number)"
    }
}
