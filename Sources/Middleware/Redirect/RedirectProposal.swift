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

/// The origins that a call came through before the current hop, oldest first.
///
/// ``Redirect`` sets it on requests that follow a redirect, for inner gates that check where a
/// request comes from.
public enum RedirectTrail: RequestOptionKey {
    /// The origins.
    public typealias Value = [Origin]
}

/// Whether the content of a request holds secrets for its origin alone.
///
/// A redirect of such a request is refused if it leads to another origin, or would drop the
/// content.
enum StaysAtHome: RequestOptionKey {
    typealias Value = Bool
}

/// What gates inside a redirect report to it about a response.
struct RedirectHints: ContextKey {
    struct Value: Sendable {
        /// How often a cookie jar changed with a redirecting response.
        ///
        /// After a change, the same URL may respond differently.
        var jarChanges = 0
        /// Upgrades a URL whose host requires TLS.
        var upgrade: (@Sendable (Request) -> Request)?
    }

    static var defaultValue: Value { Value() }
}
