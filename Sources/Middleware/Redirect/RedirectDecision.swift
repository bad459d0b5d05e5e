// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// How a redirect is handled.
public enum RedirectDecision: Sendable {
    /// Follow it as proposed.
    case follow
    /// Send another request in its place.
    ///
    /// The rules on schemes, downgrades and circles apply to that request too. Its header fields
    /// are the caller's responsibility.
    case send(Request)
    /// Do not follow it; return the redirecting response.
    case answer
    /// Fail the call as ``/TurnpikeCore/ClientError/Code/redirect``, with this message.
    case refuse(String)
}
