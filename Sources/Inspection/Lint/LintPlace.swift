// SPDX-License-Identifier: Apache-2.0

/// Where a gate stands in a stack.
public struct LintPlace: Sendable, Hashable {
    /// The position in the stack, and in each group inside, all from 0: `[2]`, `[1, 0]`.
    public let path: [Int]
    /// The gate's name.
    public let name: String

    /// Creates a place.
    public init(path: [Int], name: String) {
        self.path = path
        self.name = name
    }
}

extension LintPlace: CustomStringConvertible {
    /// The position as people count, and the name: `3. Retry`, `2.1. Log`.
    public var description: String {
        path.map { String($0 + 1) }.joined(separator: ".") + ". " + name
    }
}
