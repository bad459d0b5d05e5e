// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The content of a stored response.
public protocol CachedContent: Sendable {
    /// The number of bytes.
    var length: Int64 { get }

    /// A body that reads a part of it, as it is pulled.
    /// - Parameter range: Which bytes, within 0..<``length``.
    /// - Returns: The body.
    func body(_ range: Range<Int64>) -> ResponseBody
}
