public import TurnpikeCore

/// A redirect that the rules allow, before it is followed.
public struct RedirectProposal: Sendable {
    /// The request that was redirected.
    public let request: Request
    /// The request that follows it, without what may not go along.
    public let following: Request
    /// The head of the redirecting response.
    public let response: ResponseHead
    /// The number of the hop, from 1.
    public let hop: Int

    /// Whether the redirect leads to another scheme, host or port.
    public var changesOrigin: Bool { request.origin != following.origin }
}

/// What becomes of a redirect.
public enum RedirectDecision: Sendable {
    /// It is followed as proposed.
    case follow
    /// Another request is sent in its place.
    ///
    /// Only http and https, no downgrade and no circle hold for it too; its header fields are the
    /// caller's business.
    case send(Request)
    /// It is not followed: the redirecting response is the answer.
    case answer
    /// The call fails as ``/TurnpikeCore/ClientError/Code/redirect``, with these words.
    case refuse(String)
}

/// The origins that a call came through before the present hop, oldest first.
///
/// ``Redirect`` sets it on the requests that follow a redirect, for gates inside that judge where a
/// request comes from.
public enum RedirectTrail: RequestOptionKey {
    /// The origins.
    public typealias Value = [Origin]
}

/// Whether a request is its content, which holds secrets and is for its origin alone: a redirect to
/// another one is refused, and one that would drop the content.
enum StaysAtHome: RequestOptionKey {
    typealias Value = Bool
}

/// What gates inside a redirect tell it about a response.
struct RedirectHints: ContextKey {
    struct Value: Sendable {
        /// How often a jar changed with a redirecting response: the same URL may then answer
        /// otherwise.
        var jarChanges = 0
        /// Upgrades a URL whose host wants TLS.
        var upgrade: (@Sendable (Request) -> Request)?
    }

    static var defaultValue: Value { Value() }
}
