// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// A redirect that the rules allow, before it is followed.
public struct RedirectProposal: Sendable {
    /// The request that was redirected.
    public let request: Request
    /// The request that would follow, without the fields that must not go along.
    public let following: Request
    /// The head of the redirecting response.
    public let response: ResponseHead
    /// The number of the hop, from 1.
    public let hop: Int

    /// Whether the redirect leads to another scheme, host or port.
    public var changesOrigin: Bool { request.origin != following.origin }
}
