// SPDX-License-Identifier: Apache-2.0

/// A text that is never printed or dumped, and that equals only a text of the same bytes.
public struct Secret: Sendable, Hashable {
    /// The text.
    public let value: String

    /// Creates a secret.
    public init(_ value: String) { self.value = value }

    /// Whether both have the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        Grammar.areSame(left.value, right.value)
    }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    /// The word `REDACTED`.
    public var description: String { "REDACTED" }
    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
