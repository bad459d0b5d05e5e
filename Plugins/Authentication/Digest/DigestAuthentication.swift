// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// Answers Digest challenges with a user name and a password (RFC 7616).
///
/// The gate never sends the password itself, and never uses Basic authentication. If there are
/// several challenges, in one line or many, the gate prefers SHA-256 to MD5. The gate supports
/// `auth` and `auth-int`, `-sess` algorithms, hashed user names, and user names in UTF-8.
///
/// - The gate sends the first request to a protection space without a credential. After the
///   challenge, the gate sends the request again with the answer. Later requests reuse the nonce
///   with the next count, until the server marks the nonce as stale or sends another nonce.
/// - If the server refuses an answer, the gate does not try again, because the password is wrong.
///   If the nonce is stale, the gate answers once more.
/// - If a body cannot be sent twice, the gate returns the 401. The first send of the next request
///   contains an answer.
/// - Answers go only to the ``/TurnpikeMiddleware/CredentialOrigins`` of the credential. If a
///   request already has an `Authorization` field, the gate does not change the field.
///
/// Place the gate inside ``/TurnpikeMiddleware/Redirect``, because the gate must see each hop.
/// Place the gate inside ``/TurnpikeMiddleware/CompressBodies`` too, because an answer with
/// `auth-int` must cover the content that is sent.
public struct DigestAuthentication: Interceptor {
    private let user: String
    private let password: Secret
    private let scope: CredentialScope
    private let sessions: Sessions

    /// Creates a gate that answers Digest challenges.
    /// - Parameters:
    ///   - user: The user name.
    ///   - password: The password.
    ///   - origins: The origins that receive answers.
    ///   - sessions: The nonces that servers have sent for this user and password.
    public init(
        user: String, password: String, origins: CredentialOrigins = .own,
        sessions: Sessions = Sessions()
    ) {
        self.user = user.composed
        self.password = Secret(password.composed)
        scope = CredentialScope(origins)
        self.sessions = sessions
    }

    /// Reports that the gate sends requests again, and the origins that receive the credential.
    public func facts(for request: Request?) -> GateFacts? {
        var facts = GateFacts(
            "answers a challenge, and a second challenge if the nonce was stale",
            .setsFields([.authorization], .secret(isBound: true)), .replays(times: 2),
            passedOver: scope.obstacle(to: request))
        facts.origins = scope.listed
        // A server may ask for a hash of the content (`auth-int`).
        facts.signsContent = true
        return facts
    }

    /// Sends the request, and sends the request again with the answer to a challenge.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard try scope.admits(request, in: context), let origin = request.origin else {
            return try await next(request)
        }
        let path = request.targetURI.path
        var answer = sessions.answer(for: path.isEmpty ? "/" : path, at: origin)
        var isFresh = false
        var outcome = await Outcome.of(try await sign(request, answer), next)
        // The gate sends one answer. If the server marks the nonce of the answer as stale, the gate
        // sends a second answer.
        for _ in 0..<2 {
            guard !context.retriesForbidden,
                let challenge = challenge(in: outcome, for: request)
            else { break }
            if isFresh, !challenge.isStale { break }
            let first = DigestAnswer(
                challenge, user: user, password: password.value, clientNonce: Self.nonce(context))
            // After a redirect, the 401 may be about a later request than the refused request.
            guard outcome.isReplayable,
                outcome.request.isRepeatable || !outcome.mayHaveEffect(in: context)
            else {
                sessions.prepare(first, at: origin)
                return try outcome.result.get()
            }
            let fresh = sessions.begin(first, at: origin)
            context.report(
                "the request is sent again with an answer to the challenge", by: gateName)
            await outcome.response?.discard(in: context)
            answer = fresh
            isFresh = true
            outcome = await Outcome.ofAttempt(try await sign(request, fresh), next)
        }
        if let answer { settle(answer, outcome, at: origin) }
        return try outcome.result.get()
    }

    // Removes the nonce of a refused answer, and stores the `nextnonce` of the response.
    private func settle(_ answer: DigestAnswer, _ outcome: Outcome, at origin: Origin) {
        guard let head = outcome.head, Origin(head.url) == origin else { return }
        if head.status == .unauthorized { return sessions.end(answer, at: origin) }
        guard let information = head.headers.first("Authentication-Info") else { return }
        let following = AuthenticationChallenge.parameters(in: information)?
            .first { $0.name == "nextnonce" }?.value
        guard let following, !following.isEmpty else { return }
        sessions.prepare(answer.following(nonce: following), at: origin)
    }

    private func challenge(in outcome: Outcome, for request: Request) -> DigestChallenge? {
        guard let head = outcome.head, head.status == .unauthorized,
            scope.covers(head, to: request)
        else { return nil }
        return DigestChallenge.strongest(in: head)
    }

    private func sign(_ request: Request, _ answer: DigestAnswer?) async throws -> Request {
        guard let answer else { return request }
        var contentHash: String?
        if answer.challenge.protection == .content {
            // If the body can be opened only once, a hash of the content would consume the body.
            guard request.body.canOpenAgain else { return request }
            contentHash = try await answer.challenge.hash.hex(request.body)
        }
        var signed = request
        signed.headers[.authorization] = answer.field(
            request.method, DigestAnswer.target(of: request), contentHash: contentHash)
        return signed
    }

    private static func nonce(_ context: Context) -> String {
        context.random.next().hexadecimal + context.random.next().hexadecimal
    }
}

extension Gate where Self == DigestAuthentication {
    /// Answers Digest challenges; see
    /// ``DigestAuthentication/init(user:password:origins:sessions:)``.
    public static func digest(
        user: String, password: String, origins: CredentialOrigins = .own
    ) -> Self {
        DigestAuthentication(user: user, password: password, origins: origins)
    }
}
