// SPDX-License-Identifier: Apache-2.0

/// A scheduled handler.
public protocol TimerToken: AnyObject, Sendable {
    /// Prevents the handler from running, if it has not started.
    ///
    /// Cancelling twice has no effect.
    func cancel()
}
