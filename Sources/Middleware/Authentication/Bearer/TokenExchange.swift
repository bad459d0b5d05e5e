// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Date
public import TurnpikeCore

/// Sends the requests of a ``BearerTokenProvider``.
public struct TokenExchange: Sendable {
    /// The context of the refresh.
    ///
    /// No call and no client ends it; it ends after ``RefreshPolicy/answerLimit``, or when another
    /// token is installed.
    public let context: Context
    private let next: Next
    private let isOneTime: Bool

    init(next: Next, context: Context, isOneTime: Bool) {
        self.next = next
        self.context = context
        self.isOneTime = isOneTime
    }

    /// The current time on the wall clock, for ``BearerToken/expires``.
    public var date: Date { context.timeSource.date }

    /// Sends a request through the gates inside of the bearer gate and the client's transport.
    ///
    /// The request carries no credential but its own. It does not count as a send of a call.
    public func send(_ request: Request) async throws -> Response {
        var request = prepared(request)
        request.moveUserInformation()
        return try await next(request, context: context)
    }

    /// Sends a request as ``send(_:)`` does, and follows redirects with a gate.
    func send(_ request: Request, through redirect: Redirect) async throws -> Response {
        var request = prepared(request)
        request.moveUserInformation()
        return try await redirect.intercept(
            request, context: context, next: next.bound(to: context))
    }

    /// The request, marked as one that is sent once if it could spend the old refresh token.
    func prepared(_ request: Request) -> Request {
        var request = request
        if isOneTime, !request.method.isIdempotent { request.options.isOneTime = true }
        return request
    }
}
