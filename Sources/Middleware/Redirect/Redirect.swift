public import TurnpikeCore

/// Follows redirects (RFC 9110 §15.4), each hop judged for its own origin.
///
/// - 301 and 302 turn a POST into a GET, 303 turns all but HEAD; 307 and 308 send the same request
///   again, body included. A body that cannot be sent again makes the redirecting response the
///   answer.
/// - Only http and https, never from https to http unless allowed, never twice to the same URL.
/// - On a change of scheme, host or port, only `Accept*`, `User-Agent`, `Content-*` with the body
///   and trace fields go on. What was dropped stays dropped, also on the way back.
/// - User information in a `Location` is ignored.
///
/// Place it outside retries, cookies and credentials, so that those see each hop; one ``Deadline``
/// around it covers all hops. A refused redirect is ``/TurnpikeCore/ClientError/Code/redirect``
/// with the head of the response.
public struct Redirect: Interceptor {
    private let limit: Int
    private let rules: RedirectRules

    /// Creates a gate that follows redirects.
    /// - Parameters:
    ///   - limit: How many hops one call may make; 0 returns redirects as they come.
    ///   - allowDowngrade: Whether https may redirect to http. Credentials do not go along.
    ///   - sensitiveHeaders: More fields that are dropped on a change of origin.
    public init(
        limit: Int = 10, allowDowngrade: Bool = false, sensitiveHeaders: [HTTPHeaders.Name] = []
    ) {
        self.limit = limit
        rules = RedirectRules(allowsDowngrade: allowDowngrade, sensitiveHeaders: sensitiveHeaders)
    }

    /// Runs the rest of the chain for each hop.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        var request = request
        var visited: Set<String> = []
        var hops = 0
        while true {
            let result: Result<Response, any Error>
            do {
                result = .success(try await next(request))
            } catch {
                result = .failure(error)
            }
            let outcome = Outcome(request: request, result: result)
            guard limit > 0, let head = outcome.head, let target = rules.location(of: head) else {
                return try result.get()
            }
            let following: Request?
            do {
                visited.insert(RedirectRules.key(request))
                following = try rules.follow(request, to: target, because: head)
                if let following, visited.contains(RedirectRules.key(following)) {
                    throw RedirectRules.refusal("the redirects run in a circle", head)
                }
                if following != nil, hops >= limit {
                    throw RedirectRules.refusal("there were more than \(limit) redirects", head)
                }
            } catch {
                await outcome.response?.discard(in: context)
                throw error
            }
            guard let following else { return try result.get() }
            await outcome.response?.discard(in: context)
            hops += 1
            context.call.record.add(Hop(status: head.status, url: request.url))
            context.emit(.redirecting, request: following, head: head)
            request = following
        }
    }
}

extension Gate where Self == Redirect {
    /// Follows redirects; see ``Redirect/init(limit:allowDowngrade:sensitiveHeaders:)``.
    public static func redirect(
        limit: Int = 10, allowDowngrade: Bool = false, sensitiveHeaders: [HTTPHeaders.Name] = []
    ) -> Self {
        Redirect(limit: limit, allowDowngrade: allowDowngrade, sensitiveHeaders: sensitiveHeaders)
    }
}
