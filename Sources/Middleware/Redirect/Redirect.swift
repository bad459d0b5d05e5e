// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Follows redirects (RFC 9110 §15.4), and applies the same rules to each hop.
///
/// - After a 301 or 302, a POST becomes a GET. After a 303, every method but HEAD becomes a GET.
///   After a 307 or 308, the gate sends the same request again, with its body. If the body cannot
///   be sent again, the gate returns the redirecting response.
/// - The gate follows only http and https URLs. The gate follows a redirect from https to http only
///   if `allowDowngrade` is true. The gate visits no URL twice. One exception is a redirecting
///   response whose cookie an inner cookie jar has stored, because pages that test for cookies
///   redirect to themselves.
/// - If the scheme, host or port changes, the gate keeps only `Accept*`, `User-Agent`, the trace
///   fields, and `Content-*` with the body. The gate also drops the connect target
///   (``/TurnpikeCore/RequestOptions/connectTarget``). A dropped field does not return at a later
///   hop, even at the first origin.
/// - User information in a `Location` is ignored. A response with several different `Location`
///   fields is refused.
///
/// Place this gate outside retries, cookies, ``HSTS``, ``URLPolicy`` and credentials, because these
/// gates must see each hop. A ``Deadline`` outside this gate covers all hops. If the gate refuses a
/// redirect, the call fails with ``/TurnpikeCore/ClientError/Code/redirect``, and the error
/// contains the head of the response.
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
    ///   - limit: The maximum number of hops of one call. With 0, the gate returns redirecting
    ///     responses unchanged.
    ///   - allowDowngrade: Whether https may redirect to http. The gate drops credentials when
    ///     https redirects to http.
    ///   - sensitiveHeaders: Additional fields to drop if the origin changes.
    ///   - onRedirect: Decides about each redirect that the rules allow. If nil, the
    ///     gate follows all allowed redirects. If the closure throws an error, the call fails with
    ///     that error.
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
                "follows no redirects", passedOver: request.map { _ in "it follows no redirects" })
        }
        var facts = GateFacts("follows up to \(limit) redirects", .redirects(hops: limit))
        if onRedirect != nil {
            facts.effects.append(.waits(atMost: nil, reason: "its handler's decision"))
        }
        return facts
    }

    /// Returns true if the response is not a redirect.
    public func after(_ response: Response, to request: Request, context: Context) throws -> Bool {
        !response.status.isRedirection
    }

    /// Runs the inner gates for each hop.
    public func resume(
        after first: Result<Response, any Error>, to request: Request, context: Context, next: Next
    ) async throws -> Response {
        var request = request
        var result = first
        var path = RedirectPath(origins: request.options[RedirectTrail.self] ?? [])
        while true {
            if case .success(let response) = result, !response.status.isRedirection {
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
            // Most redirecting responses have short content. Content of unknown size counts as
            // endless if the content is larger than the limit for draining.
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

    // An outer retry gate must not treat the call as unsent, because a server has answered.
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

private struct RedirectPath {
    var hops = 0
    // Whether a server may have performed the request before the server redirected the call.
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
    /// If there is no handler, the gate returns soon after the inner gates have returned.
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
