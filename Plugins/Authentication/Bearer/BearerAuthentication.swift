// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
public import TurnpikeSupport

/// Sends a bearer token with each request (RFC 6750), and replaces a token that the server refuses.
///
/// ```swift
/// let tokens = BearerTokens(provider: ClientCredentialsGrant(endpoint))
/// let client = Client(baseURL: "https://api.example.com/", stack: [
///     .deadline(.seconds(30)), .redirect(), .retry(), .bearer(tokens), .attemptTimeout(.seconds(10)),
/// ])
/// ```
///
/// - The gate sends the token only to its ``/TurnpikeMiddleware/CredentialOrigins``. If a request
///   already has the field `Authorization`, the gate does not change the request, and does not
///   handle a 401 to the request.
/// - After a 401, the token is refreshed once for all calls that got a 401 (``BearerTokens``).
///   After the refresh, each call sends its request once more. If another call has already replaced
///   the refused token, the gate signs the request with the new token. The gate returns a 401 with
///   `insufficient_scope` or `invalid_request` (RFC 6750 §3.1) unchanged.
/// - If a body cannot be sent twice, the gate returns the 401. The next call refreshes the token
///   first.
/// - The wait for a token counts toward the call's ``/TurnpikeMiddleware/Deadline``. If the call
///   ends, the wait ends.
///
/// The gate handles a 401 in the same way whether a validator is inside or outside. Place the gate
/// inside ``/TurnpikeMiddleware/Redirect``, because it must see each hop. Place the gate outside
/// ``/TurnpikeMiddleware/AttemptTimeout``, because the wait for a token is not part of an attempt.
public struct BearerAuthentication: Interceptor {
    private let tokens: BearerTokens
    private let scope: CredentialScope

    /// Creates a gate that sends a bearer token.
    /// - Parameters:
    ///   - tokens: The token, and the provider that replaces the token.
    ///   - origins: The origins that receive the token.
    public init(_ tokens: BearerTokens, origins: CredentialOrigins = .own) {
        self.tokens = tokens
        scope = CredentialScope(origins)
    }

    /// Reports the origins that receive the token, and the longest wait for a token.
    ///
    /// A request may wait for a token twice, before the first send and after a 401.
    public func facts(for request: Request?) -> GateFacts? {
        let sets = GateEffect.setsFields([.authorization], .secret(isBound: true))
        var facts = GateFacts("sends a token", sets, passedOver: scope.obstacle(to: request))
        facts.origins = scope.listed
        guard let limit = tokens.longestWait else { return facts }
        facts.summary +=
            ", waits \(limit.text) at most for a new token, and sends again once after a 401"
        facts.effects += [.replays(times: 1), .waits(atMost: limit, reason: "a token")]
        // The waits for the token include the waits for the store.
        if let use = tokens.sharedUse { facts.effects.append(use) }
        return facts
    }

    /// Sends the request with the token.
    ///
    /// If the server refuses the token, sends the request once more with a new token.
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
        // After a redirect, the 401 may be about a later request than the refused request.
        guard outcome.isReplayable,
            outcome.request.isRepeatable || !outcome.mayHaveEffect(in: context)
        else {
            tokens.refuse(first)
            return try outcome.result.get()
        }
        guard mayReplay(first, in: context) else { return try outcome.result.get() }
        context.report("the token was refused; the request waits for a new token", by: gateName)
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

    /// Waits for the response to a running refresh, at most ``RefreshPolicy/timeLimit``.
    public func shutdown() async { await tokens.waitForRefresh() }

    // A call sends a refused request again only once. If the server refused the same token in
    // parallel attempts, such as hedges, each attempt may send the request again.
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

/// The generation of the first refused token of this call, for each ``BearerTokens``.
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

/// An access token (RFC 6750) with an expiry date and a refresh token.
///
/// The description and the dump of a token show no secret.
public struct BearerToken: Sendable, Hashable {
    private let access: Secret
    private let refresh: Secret?

    /// The date on the wall clock when the token expires, or nil if the date is not known.
    public let expires: Date?

    /// Creates a token.
    /// - Parameters:
    ///   - value: The text of the token. If the text is empty, the token is refreshed first. If the
    ///     refresh fails, the call fails with ``/TurnpikeCore/ClientError/Code/auth``.
    ///   - expires: The date when the token expires.
    ///   - refreshToken: The refresh token for the next access token (RFC 6749 §1.5).
    public init(_ value: String, expires: Date? = nil, refreshToken: String? = nil) {
        access = Secret(value)
        refresh = refreshToken.map { Secret($0) }
        self.expires = expires
    }

    /// The text of the token.
    public var value: String { access.value }

    var isBlank: Bool { Grammar.trimmed(value).isEmpty }

    /// The refresh token, with which a provider gets the next access token, or nil.
    public var refreshToken: String? { refresh?.value }
}

extension BearerToken: CustomStringConvertible {
    /// The expiry date, without any secret.
    public var description: String {
        "a bearer token" + (expires.map { " until \($0)" } ?? "")
    }
}

/// Gets bearer tokens, for instance from an authorization server.
///
/// ```swift
/// struct Metadata: BearerTokenProvider {
///     func token(replacing old: BearerToken?, by exchange: TokenExchange) async throws -> BearerToken {
///         let request = Request(.get, "http://169.254.169.254/token")
///         let text = try await exchange.send(request).body.collect(upTo: 4096)
///         return BearerToken(String(decoding: text, as: UTF8.self))
///     }
///
///     var spendsRefreshToken: Bool { false }
/// }
/// ```
///
/// ``BearerTokens`` calls a provider for one token at a time, no matter how many calls wait. The
/// provider may send its request through any client, even through the client of the gate. The gate
/// does not sign a request that is sent within ``token(replacing:by:)``.
///
/// A provider's request may wait for its own token until the time limit of the refresh ends. One
/// such request comes from a detached task, because the gate signs this request. Another needs a
/// permit of an outer `ConcurrencyLimit` while the calls that wait for the token hold all permits.
/// ``TokenExchange/send(_:)`` needs no permit, because this method uses only the inner gates.
public protocol BearerTokenProvider: Sendable {
    /// Gets a new token.
    /// - Parameters:
    ///   - old: The token that the new token replaces, or nil for the first token.
    ///   - exchange: An object that sends requests and contains the context of the refresh.
    /// - Returns: The new token.
    /// - Throws: Any error whose description contains no secret. All waiting calls fail with
    ///   ``/TurnpikeCore/ClientError/Code/auth``, and this error is the cause.
    func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken

    /// Whether a request for a new token may invalidate the old refresh token, as with rotating
    /// refresh tokens; true by default.
    ///
    /// If the value is true, a second refresh begins only after the response to the first refresh,
    /// or after ``RefreshPolicy/answerLimit``. In this case, the time limits and retries of gates
    /// do not apply to a request of ``TokenExchange/send(_:)`` with a non-idempotent method.
    var spendsRefreshToken: Bool { get }
}

extension BearerTokenProvider {
    /// Returns true, because a needless second request may invalidate the only valid refresh token.
    public var spendsRefreshToken: Bool { true }
}

/// When and how often a bearer token is refreshed.
public struct RefreshPolicy: Sendable, Hashable {
    /// The maximum number of refused tokens that are replaced within ``window``.
    ///
    /// If one more token is refused, the call fails. A token that has expired does not count.
    public var maxRefreshes: Int
    /// The period over which refused tokens are counted.
    public var window: Duration
    /// The longest time that a call waits for a refresh.
    public var timeLimit: Duration
    /// The time between the replacement of a token and its expiry, at most half of its lifetime.
    public var leeway: Duration

    /// Creates a policy.
    /// - Parameters:
    ///   - maxRefreshes: The maximum number of refused tokens that are replaced within the window.
    ///   - window: The period over which refused tokens are counted.
    ///   - timeLimit: The longest time that a call waits for a refresh.
    ///   - leeway: The time between the replacement of a token and its expiry.
    public init(
        maxRefreshes: Int = 5, window: Duration = .seconds(30), timeLimit: Duration = .seconds(30),
        leeway: Duration = .seconds(30)
    ) {
        self.maxRefreshes = maxRefreshes
        self.window = window
        self.timeLimit = timeLimit
        self.leeway = leeway
    }

    /// The longest wait for the response to a refresh: four times ``timeLimit``, at least two
    /// minutes.
    ///
    /// If the response comes after ``timeLimit``, the waiting calls have failed, but the new token
    /// is used. A refresh token that may be spent is sent again only after ``answerLimit``. After
    /// that time, either the server has responded, or the connection is dead.
    public var answerLimit: Duration { max(timeLimit * 4, .seconds(120)) }

    /// The policy with all defaults.
    public static let standard = RefreshPolicy()
}
