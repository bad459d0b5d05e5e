// SPDX-License-Identifier: Apache-2.0

/// Options for parsing JSON text.
public struct JSONReadingOptions: Hashable, Sendable {
    /// How several members with one name in an object are handled.
    public enum DuplicateNames: Hashable, Sendable {
        /// The first member counts, as in Foundation's `JSONDecoder`, so that both parsers return
        /// the same value.
        case keepFirst
        /// The text is rejected.
        ///
        /// Use it if another program reads the same text.
        case refuse
    }

    /// How deeply arrays and objects may be nested.
    public var maxDepth: Int
    /// The longest number in bytes.
    public var maxNumberBytes: Int
    /// How several members with one name are handled.
    public var duplicateNames: DuplicateNames

    /// Creates options.
    ///
    /// The default depth is that of Foundation's `JSONDecoder`.
    public init(
        maxDepth: Int = 512, maxNumberBytes: Int = 1024,
        duplicateNames: DuplicateNames = .keepFirst
    ) {
        self.maxDepth = maxDepth
        self.maxNumberBytes = maxNumberBytes
        self.duplicateNames = duplicateNames
    }
}
