// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Data

/// What a ``TokenStore`` keeps.
public struct StoredToken: Sendable, Hashable {
    /// The content, in the format of who has stored it.
    public var content: Data
    /// The number of the lock under which it was made; higher numbers come later.
    public var fence: UInt64

    /// Creates a content.
    public init(_ content: Data, fence: UInt64) {
        self.content = content
        self.fence = fence
    }
}

extension StoredToken: CustomStringConvertible {
    /// The size, and no secret.
    public var description: String { "\(content.count) bytes, fence \(fence)" }
}
