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
}

/// What a ``BearerTokenProvider`` may use.
public struct TokenExchange: Sendable {
    /// The refresh's own context: it ends with the refresh's time limit or with the client, not
    /// with one of the calls that wait.
    public let context: Context
    private let next: Next

    init(next: Next, context: Context) {
        self.next = next
        self.context = context
    }

    /// The present on the wall clock, for ``BearerToken/expires``.
    public var date: Date { context.timeSource.date }

    /// Sends a request through the gates inside of the bearer gate and the client's transport.
    ///
    /// It carries no credential that the request itself does not have. Its sends do not count as
    /// those of a call.
    public func send(_ request: Request) async throws -> Response {
        var request = request
        request.moveUserInformation()
        return try await next(request, context: context)
    }
}
