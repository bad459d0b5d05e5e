// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Sends a bearer token with each request (RFC 6750), and replaces a token that is refused.
///
/// ```swift
/// let tokens = BearerTokens(provider: ClientCredentialsGrant(endpoint))
/// let client = Client(baseURL: "https://api.example.com/", stack: [
///     .deadline(.seconds(30)), .redirect(), .retry(), .bearer(tokens), .attemptTimeout(.seconds(10)),
/// ])
/// ```
///
/// - The token goes only to its ``CredentialOrigins``. A request with an `Authorization` of its own
///   keeps it, and a 401 to such a request is not handled here.
/// - After a 401 the token is refreshed, once for all calls that got one (``BearerTokens``), and
///   the request is sent again, once per call. If the refused token has already been replaced, the
///   request is only signed again. A 401 with `insufficient_scope` or `invalid_request` (RFC 6750
///   §3.1) is returned as it is.
/// - A body that cannot be sent twice is not sent again: the 401 is returned, and the next call
///   refreshes the token first.
/// - The wait for a token counts toward the call's ``Deadline``, and ends with the call.
///
/// A 401 is handled in the same way whether a validator stands inside or outside. Place the gate
/// inside ``Redirect``, so that it sees each hop, and outside of ``AttemptTimeout``, so that the
/// wait for a token is not part of an attempt.
public struct BearerAuthentication: Interceptor {
    private let tokens: BearerTokens
    private let scope: CredentialScope

    /// Creates a gate.
    /// - Parameters:
    ///   - tokens: The token, and how it is replaced.
    ///   - origins: The origins that receive the token.
    public init(_ tokens: BearerTokens, origins: CredentialOrigins = .own) {
        self.tokens = tokens
        scope = CredentialScope(origins)
    }

    /// States that the gate sends a token, to which origins, and how long it may wait for one.
    ///
    /// A pass may wait for a token twice: before it sends, and after a 401.
    public func facts(for request: Request?) -> GateFacts? {
        let sets = GateEffect.setsFields([.authorization], .secret(isBound: true))
        var facts = GateFacts("sends a token", sets, passedOver: scope.obstacle(to: request))
        facts.origins = scope.listed
        guard let limit = tokens.longestWait else { return facts }
        facts.summary +=
            ", waits \(limit.text) at most for a new one, and sends again once after a 401"
        facts.effects += [.replays(times: 1), .waits(atMost: limit, reason: "a token")]
        // The waits for the store are among those for a token.
        if let store = tokens.sharedStore {
            facts.effects.append(
                .sharesState(.secrets, isHidden: store.hidesTraffic, atMost: .zero))
        }
        return facts
    }

    /// Runs the rest of the chain with the token, and once more with a new token if it is refused.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard !tokens.isRefreshingHere, try scope.admits(request, in: context) else {
            return try await next(request)
        }
        let first = try await tokens.credential(in: context, next: next)
        let outcome = await Outcome.of(sign(request, first), next)
        guard tokens.canRefresh, let head = outcome.head, Self.isRefusal(head),
            scope.covers(head, to: request), !context.retriesForbidden
        else { return try outcome.result.get() }
        guard outcome.isReplayable else {
            tokens.refuse(first)
            return try outcome.result.get()
        }
        guard mayReplay(first, in: context) else { return try outcome.result.get() }
        context.note(gate: gateName, "the token was refused; the request waits for a new one")
        await outcome.response?.discard(in: context)
        try context.checkCancellation()
        let second: BearerTokens.Credential
        do {
            second = try await tokens.credential(after: first, in: context, next: next)
        } catch let error as ClientError where error.code == .auth {
            throw error.completed(response: head)
        }
        return try await next.attempt(sign(request, second))
    }

    /// Waits for the answer to a refresh under way, at most ``RefreshPolicy/timeLimit``.
    public func shutdown() async { await tokens.waitForRefresh() }

    // A call replays once. Parallel attempts, such as those of a hedge, may each replay if the same
    // token was refused.
    private func mayReplay(_ refused: BearerTokens.Credential, in context: Context) -> Bool {
        let tokens = ObjectIdentifier(tokens)
        let first = context[RefusedTokens.self][tokens] ?? refused.generation
        context[RefusedTokens.self][tokens] = first
        return first == refused.generation
    }

    private func sign(_ request: Request, _ credential: BearerTokens.Credential) -> Request {
        var signed = request
        signed.headers[.authorization] = "Bearer " + credential.token.value
        return signed
    }

    private static func isRefusal(_ head: ResponseHead) -> Bool {
        guard head.status == .unauthorized else { return false }
        return AuthenticationChallenge.challenges(in: head.headers).allSatisfy { challenge in
            challenge.scheme != "bearer"
                || !["insufficient_scope", "invalid_request"].contains(challenge["error"])
        }
    }
}

/// For each store of tokens, the generation of the token that was refused first in this call.
private enum RefusedTokens: ContextKey {
    static var defaultValue: [ObjectIdentifier: UInt64] { [:] }
}

extension Gate where Self == BearerAuthentication {
    /// Sends a bearer token; see ``BearerAuthentication/init(_:origins:)``.
    public static func bearer(_ tokens: BearerTokens, origins: CredentialOrigins = .own) -> Self {
        BearerAuthentication(tokens, origins: origins)
    }

    /// Sends a token that never changes; see ``BearerAuthentication/init(_:origins:)``.
    public static func bearer(token: String, origins: CredentialOrigins = .own) -> Self {
        BearerAuthentication(BearerTokens(BearerToken(token)), origins: origins)
    }
}
