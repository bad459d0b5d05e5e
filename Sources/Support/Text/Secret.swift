// SPDX-License-Identifier: Apache-2.0

/// A text that is never printed or dumped, and that is equal only to a text with the same bytes.
public struct Secret: Sendable, Hashable {
    /// The text.
    public let value: String

    /// Creates a secret.
    public init(_ value: String) { self.value = value }

    /// Whether both texts have the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        Grammar.areSame(left.value, right.value)
    }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    /// The word `REDACTED`.
    public var description: String { "REDACTED" }
    /// An empty mirror, because a dump must not show the text.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
