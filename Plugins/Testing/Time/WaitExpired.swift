// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The error of a test that has waited too long for something.
///
/// Its description says what was waited for, so that the test fails with it instead of hanging.
public struct WaitExpired: Error, Sendable, CustomStringConvertible {
    /// What was waited for, and how long.
    public let description: String

    /// Creates an error.
    /// - Parameters:
    ///   - limit: How long the test waited.
    ///   - what: What the test waited for.
    public init(after limit: Duration, for what: String) {
        description = "waited \(limit.text) for \(what)"
    }
}
