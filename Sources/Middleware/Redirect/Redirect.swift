// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Follows redirects (RFC 9110 §15.4), and applies the same rules to each hop.
///
/// - 301 and 302 turn a POST into a GET; 303 turns every method but HEAD into a GET. 307 and 308
///   send the same request again, with its body. If the body cannot be sent again, the redirecting
///   response is returned.
/// - Only http and https URLs are followed. A redirect from https to http is followed only if this
///   is allowed. No URL is visited twice. The exception is a redirect from which a cookie jar
///   inside has stored a cookie: pages that test for cookies need this.
/// - On a change of scheme, host or port, only `Accept*`, `User-Agent`, the trace fields, and
///   `Content-*` with the body are kept. A dropped field stays dropped, even if a later hop leads
///   back. A connect target (``/TurnpikeCore/RequestOptions/connectTarget``) is dropped too.
/// - User information in a `Location` is ignored. Several different `Location` fields are refused.
///
/// Place it outside retries, cookies, ``HSTS``, ``URLPolicy`` and credentials, so that they see
/// each hop. One ``Deadline`` around it covers all hops. A refused redirect fails as
/// ``/TurnpikeCore/ClientError/Code/redirect``, with the head of the response.
///
/// ```swift
/// let client = Client(transport: transport) {
///     Redirect { proposal in proposal.changesOrigin ? .answer : .follow }
/// }
/// ```
public struct Redirect: PhasedInterceptor {
    private let limit: Int
    private let rules: RedirectRules
    private let onRedirect: (@Sendable (RedirectProposal) async throws -> RedirectDecision)?

    /// Creates a gate that follows redirects.
    /// - Parameters:
    ///   - limit: The most hops of one call; with 0, redirects are returned unchanged.
    ///   - allowDowngrade: Whether https may redirect to http. Credentials are dropped on the way.
    ///   - sensitiveHeaders: More fields to drop on a change of origin.
    ///   - onRedirect: Decides about each redirect that the rules allow; if nil, all are followed.
    ///     An error from it ends the call.
    public init(
        limit: Int = 10, allowDowngrade: Bool = false, sensitiveHeaders: [HTTPHeaders.Name] = [],
        onRedirect: (@Sendable (RedirectProposal) async throws -> RedirectDecision)? = nil
    ) {
        self.limit = limit
        self.onRedirect = onRedirect
        rules = RedirectRules(allowsDowngrade: allowDowngrade, sensitiveHeaders: sensitiveHeaders)
    }

    /// States how many redirects the gate follows.
    public func facts(for request: Request?) -> GateFacts? {
        guard limit > 0 else {
            return GateFacts(
                "follows no redirects", passedOver: request.map { _ in "it follows none" })
        }
        var facts = GateFacts("follows up to \(limit) redirects", .redirects(hops: limit))
        if onRedirect != nil {
            facts.effects.append(.waits(atMost: nil, reason: "its handler's decision"))
        }
        return facts
    }

    /// Passes on a response that is no redirect.
    public func after(_ response: Response, to request: Request, context: Context) throws -> Bool {
        response.status.kind != .redirection
    }

    /// Runs the rest of the chain for each hop.
    public func resume(
        after first: Result<Response, any Error>, to request: Request, context: Context, next: Next
    ) async throws -> Response {
        var request = request
        var result = first
        var path = RedirectPath(origins: request.options[RedirectTrail.self] ?? [])
        while true {
            if case .success(let response) = result, response.status.kind != .redirection {
                return response
            }
            let outcome = Outcome(request: request, result: result)
            guard limit > 0, !context.retriesForbidden, let head = outcome.head else {
                return try result.get()
            }
            let following: Request?
            do {
                following = try await follow(request, because: head, &path, context)
            } catch {
                await outcome.response?.discard(in: context)
                throw error
            }
            guard let following else { return try result.get() }
            // The content of a redirect is short. Content without a declared size counts as endless
            // if it is larger than the limit for draining.
            if await outcome.response?.discard(in: context).isEndless == true {
                throw RedirectRules.refusal("the redirect's own content is too long to skip", head)
            }
            context.didRedirect(request, to: following, because: head)
            request = following
            do {
                result = .success(try await next(request))
            } catch {
                result = .failure(path.hasEffect ? Self.behindAnAnswer(error) : error)
            }
        }
    }

    // An outer retry must not treat the call as unsent.
    private static func behindAnAnswer(_ error: any Error) -> any Error {
        (error as? ClientError)?.behindAnAnswer ?? error
    }

    private func follow(
        _ request: Request, because head: ResponseHead, _ path: inout RedirectPath,
        _ context: Context
    ) async throws -> Request? {
        guard let target = try rules.location(of: head) else { return nil }
        let hints = context[RedirectHints.self]
        path.leave(request, jarChanges: hints.jarChanges)
        guard
            var following = try rules.follow(
                request, to: target, because: head, upgrade: hints.upgrade)
        else { return nil }
        try path.check(following, limit: limit, head)
        if let onRedirect {
            let proposal = RedirectProposal(
                request: request, following: following, response: head, hop: path.hops + 1)
            switch try await onRedirect(proposal) {
            case .follow: break
            case .answer: return nil
            case .refuse(let reason): throw RedirectRules.refusal(reason, head)
            case .send(let other):
                try rules.check(other, after: request, head)
                try path.check(other, limit: limit, head)
                following = other
            }
        }
        if request.options[OriginBoundOption.self] == true {
            guard following.origin == request.origin else {
                throw RedirectRules.refusal(
                    "the request's content may be sent only to its own origin", head)
            }
            guard following.method == request.method else {
                throw RedirectRules.refusal("the redirect would drop the request's content", head)
            }
        }
        path.hops += 1
        if RedirectRules.mayHaveEffect(head.status) { path.hasEffect = true }
        following.options[RedirectTrail.self] = path.origins
        return following
    }
}

/// The hops of a call so far.
private struct RedirectPath {
    var hops = 0
    // Whether a server may have performed the request before it redirected.
    var hasEffect = false
    var origins: [Origin]
    private var visited: Set<String> = []
    private var jarChanges = 0

    init(origins: [Origin]) { self.origins = origins }

    mutating func leave(_ request: Request, jarChanges: Int) {
        if jarChanges != self.jarChanges {
            self.jarChanges = jarChanges
            visited = []
        } else {
            visited.insert(RedirectRules.key(request))
        }
        if let origin = request.origin { origins.append(origin) }
    }

    func check(_ following: Request, limit: Int, _ head: ResponseHead) throws {
        if visited.contains(RedirectRules.key(following)) {
            throw RedirectRules.refusal("the redirects form a loop", head)
        }
        if hops >= limit {
            throw RedirectRules.refusal("there were more than \(limit) redirects", head)
        }
    }
}

extension Redirect: PromptlyCancellable {
    /// A pass ends soon if the rest of the chain ends soon, unless the gate's handler waits.
    public var promptness: Promptness { onRedirect == nil ? .withInside : .unknown }
}

extension Gate where Self == Redirect {
    /// Follows redirects; see ``Redirect/init(limit:allowDowngrade:sensitiveHeaders:onRedirect:)``.
    public static func redirect(
        limit: Int = 10, allowDowngrade: Bool = false, sensitiveHeaders: [HTTPHeaders.Name] = [],
        onRedirect: (@Sendable (RedirectProposal) async throws -> RedirectDecision)? = nil
    ) -> Self {
        Redirect(
            limit: limit, allowDowngrade: allowDowngrade, sensitiveHeaders: sensitiveHeaders,
            onRedirect: onRedirect)
    }
}
