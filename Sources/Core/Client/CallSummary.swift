// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A summary of a running call, redacted for printing.
public struct CallSummary: Sendable, Identifiable, CustomStringConvertible {
    /// The call's identifier, as logs show it.
    public let id: CallID
    /// The request as last sent or, before that, as described.
    ///
    /// Nil for an exchange that a gate makes itself and has not sent yet.
    public let request: RequestSummary?
    /// The time since the call began.
    public let age: Duration

    /// The identifier, request and age in one line.
    public var description: String {
        "\(id) \(request?.description ?? "an exchange of a gate"), for \(age.text)"
    }
}
