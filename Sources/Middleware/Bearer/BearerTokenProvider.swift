public import struct Foundation.Date
public import TurnpikeCore

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
/// ``BearerTokens`` asks it for one token at a time, whatever the number of calls that wait. It may
/// send through any client, the one that the gate belongs to included: what is sent in the course
/// of ``token(replacing:by:)`` passes the gate unsigned. Only work that it hands to a detached task
/// would be signed, and so wait for itself, until the time limit of the refresh. So would what needs
/// a permit of a ``ConcurrencyLimit`` outside of the gate, once calls that wait for the token hold
/// them all; ``TokenExchange/send(_:)`` passes the gates inside alone.
public protocol BearerTokenProvider: Sendable {
    /// Gets a new token.
    /// - Parameters:
    ///   - old: The token that it replaces; nil for the first one.
    ///   - exchange: A way to send requests, clocks, and the refresh's own cancellation.
    /// - Returns: The token.
    /// - Throws: Any error; all calls that wait fail as ``/TurnpikeCore/ClientError/Code/auth``
    ///   with it as the cause. It must not print a secret.
    func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken

    /// Whether the server may take the old token for spent once it is asked for a new one, as where
    /// refresh tokens rotate; true unless a provider says otherwise.
    ///
    /// Then no second refresh begins before the answer to the first is here, or given up after
    /// ``RefreshPolicy/answerLimit``, and gates' time limits and retries leave alone what is sent by
    /// ``TokenExchange/send(_:)`` with a method that is not idempotent.
    var spendsRefreshToken: Bool { get }
}

extension BearerTokenProvider {
    /// True: to ask twice is what costs more.
    public var spendsRefreshToken: Bool { true }
}

/// What a ``BearerTokenProvider`` may use.
public struct TokenExchange: Sendable {
    /// The refresh's own context, which no call and no client ends: ``RefreshPolicy/answerLimit``
    /// does, and a token that is put in force meanwhile.
    public let context: Context
    private let next: Next
    private let isOneTime: Bool

    init(next: Next, context: Context, isOneTime: Bool) {
        self.next = next
        self.context = context
        self.isOneTime = isOneTime
    }

    /// The present on the wall clock, for ``BearerToken/expires``.
    public var date: Date { context.timeSource.date }

    /// Sends a request through the gates inside of the bearer gate and the client's transport.
    ///
    /// It carries no credential that the request itself does not have. Its sends do not count as
    /// those of a call.
    public func send(_ request: Request) async throws -> Response {
        var request = prepared(request)
        request.moveUserInformation()
        return try await next(request, context: context)
    }

    /// Sends a request as ``send(_:)`` does, and follows redirects as a gate says.
    func send(_ request: Request, through redirect: Redirect) async throws -> Response {
        var request = prepared(request)
        request.moveUserInformation()
        return try await redirect.intercept(
            request, context: context, next: next.bound(to: context))
    }

    /// The request as it is sent, by whichever client.
    func prepared(_ request: Request) -> Request {
        var request = request
        if isOneTime, !request.method.isIdempotent { request.options.isOneTime = true }
        return request
    }
}
