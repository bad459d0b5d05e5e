public import TurnpikeCore

/// Follows redirects (RFC 9110 §15.4), each hop judged for its own origin.
///
/// - 301 and 302 turn a POST into a GET, 303 turns all but HEAD; 307 and 308 send the same request
///   again, body included. A body that cannot be sent again makes the redirecting response the
///   answer.
/// - Only http and https, never from https to http unless allowed. Never twice to the same URL,
///   unless a jar inside took a cookie from the redirect, as pages that test for cookies do.
/// - On a change of scheme, host or port, only `Accept*`, `User-Agent`, `Content-*` with the body
///   and trace fields go on. What was dropped stays dropped, also on the way back.
/// - User information in a `Location` is ignored.
///
/// Place it outside retries, cookies, ``HSTS``, ``URLPolicy`` and credentials, so that those see
/// each hop; one ``Deadline`` around it covers all hops. A refused redirect is
/// ``/TurnpikeCore/ClientError/Code/redirect`` with the head of the response.
///
/// ```swift
/// let client = Client(transport: transport) {
///     Redirect { proposal in proposal.changesOrigin ? .answer : .follow }
/// }
/// ```
public struct Redirect: Interceptor {
    /// Decides about a redirect that the rules allow.
    public typealias Policy = @Sendable (RedirectProposal) async throws -> RedirectDecision

    private let limit: Int
    private let rules: RedirectRules
    private let onRedirect: Policy?

    /// Creates a gate that follows redirects.
    /// - Parameters:
    ///   - limit: How many hops one call may make; 0 returns redirects as they come.
    ///   - allowDowngrade: Whether https may redirect to http. Credentials do not go along.
    ///   - sensitiveHeaders: More fields that are dropped on a change of origin.
    ///   - onRedirect: Decides about each redirect that the rules allow; without it all are
    ///     followed. What it throws ends the call.
    public init(
        limit: Int = 10, allowDowngrade: Bool = false, sensitiveHeaders: [HTTPHeaders.Name] = [],
        onRedirect: Policy? = nil
    ) {
        self.limit = limit
        self.onRedirect = onRedirect
        rules = RedirectRules(allowsDowngrade: allowDowngrade, sensitiveHeaders: sensitiveHeaders)
    }

    /// Runs the rest of the chain for each hop.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        var request = request
        var path = RedirectPath()
        while true {
            let result: Result<Response, any Error>
            do {
                result = .success(try await next(request))
            } catch {
                result = .failure(path.hasEffect ? Self.behindAnAnswer(error) : error)
            }
            if case .success(let response) = result, response.status.kind != .redirection {
                return response
            }
            let outcome = Outcome(request: request, result: result)
            guard limit > 0, !context.call.record.hasFailed, let head = outcome.head,
                let target = rules.location(of: head)
            else {
                return try result.get()
            }
            let following: Request?
            do {
                following = try await follow(request, to: target, head, &path, context)
            } catch {
                await outcome.response?.discard(in: context)
                throw error
            }
            guard let following else { return try result.get() }
            // A page that only says where to go, of no declared size, is not larger than what is
            // drained; what is goes on for ever.
            if await outcome.response?.drain(in: context).isEndless == true {
                throw RedirectRules.refusal("the redirect's own content does not end", head)
            }
            context.call.record.add(Hop(status: head.status, url: request.url))
            context.emit(.redirecting, request: following, head: head)
            request = following
        }
    }

    // A retry outside must not take the call for one that was never sent.
    private static func behindAnAnswer(_ error: any Error) -> any Error {
        (error as? ClientError)?.behindAnAnswer ?? error
    }

    private func follow(
        _ request: Request, to target: String, _ head: ResponseHead, _ path: inout RedirectPath,
        _ context: Context
    ) async throws -> Request? {
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
        if request.options[StaysAtHome.self] == true {
            guard following.origin == request.origin else {
                throw RedirectRules.refusal("the content is for its own origin alone", head)
            }
            guard following.method == request.method else {
                throw RedirectRules.refusal("the redirect would drop the content", head)
            }
        }
        path.hops += 1
        if RedirectRules.mayHaveEffect(head.status) { path.hasEffect = true }
        following.options[RedirectTrail.self] = path.origins
        return following
    }
}

/// Where a call has been.
private struct RedirectPath {
    var hops = 0
    // Whether a server may have done what was asked before it led on.
    var hasEffect = false
    var origins: [Origin] = []
    private var visited: Set<String> = []
    private var jarChanges = 0

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
            throw RedirectRules.refusal("the redirects run in a circle", head)
        }
        if hops >= limit {
            throw RedirectRules.refusal("there were more than \(limit) redirects", head)
        }
    }
}

extension Redirect: Heeding {
    package var heed: Heed { onRedirect == nil ? .withInside : .unknown }
}

extension Gate where Self == Redirect {
    /// Follows redirects; see ``Redirect/init(limit:allowDowngrade:sensitiveHeaders:onRedirect:)``.
    public static func redirect(
        limit: Int = 10, allowDowngrade: Bool = false, sensitiveHeaders: [HTTPHeaders.Name] = [],
        onRedirect: Redirect.Policy? = nil
    ) -> Self {
        Redirect(
            limit: limit, allowDowngrade: allowDowngrade, sensitiveHeaders: sensitiveHeaders,
            onRedirect: onRedirect)
    }
}
