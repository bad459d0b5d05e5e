// SPDX-License-Identifier: Apache-2.0

/// Why a text is not JSON, and where.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason.
    ///
    /// It quotes at most one byte of the text.
    public let reason: String
    /// The position of the fault in bytes, starting at 0.
    public let offset: Int
    /// The line of the fault, starting at 1.
    public let line: Int
    /// The column of the fault in bytes, starting at 1.
    public let column: Int

    /// The position and the reason: `line 3, column 14: …`.
    public var description: String { "line \(line), column \(column): \(reason)" }
}
