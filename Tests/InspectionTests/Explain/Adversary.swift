// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Turnpike
import TurnpikeCore
import TurnpikeTesting

/// A server that knows the stack of its client, and wants one call to cost as much as it can.
final class Adversary: Transport {
    /// What it is after.
    enum Plan: CaseIterable {
        /// Failures at once: the most attempts.
        case failures
        /// Redirects at once, each after all attempts that the hop allows.
        case redirects
        /// Challenges, then failures.
        case challenges
        /// Failures that come just after another copy was sent.
        case copies
        /// Failures at the latest moment that the client still waits for, and then the longest
        /// `Retry-After`.
        case lateness
        /// The same, but redirects where there can be more.
        case lateRedirects
        /// Failures at once, each with the longest `Retry-After` that the client still heeds.
        case waits
        /// The same, and then a redirect, where there can be more.
        case waitingRedirects
        /// Kept-alive connections that end at once.
        case lostConnections
        /// Connections that fail before anything is sent, so that any request may be sent again.
        case refusedConnections
        /// The same, and then a redirect, where there can be more.
        case refusedThenRedirects
        /// Nothing at all.
        case silence
    }

    let capabilities = TransportCapabilities(rawValue: .max)
    private let plan: Plan
    private let stack: RandomStack
    private let state = Mutex((sends: 0, hops: 0, begin: MonotonicInstant?.none))

    init(_ plan: Plan, _ stack: RandomStack) {
        self.plan = plan
        self.stack = stack
    }

    func shutdown() async {}

    func send(_ request: Request, context: Context) async throws -> Response {
        let now = context.timeSource.now
        let (send, begin) = state.withLock { state in
            state.sends += 1
            if state.begin == nil { state.begin = now }
            return (state.sends, state.begin ?? now)
        }
        let left = stack.deadline.map { $0 - begin.duration(to: now) } ?? .seconds(1_000_000)
        try await context.sleep(for: delay(left))
        let isHop = send % max(stack.attempts, 1) == 0
        switch plan {
        case .redirects, .lateRedirects, .waitingRedirects:
            if isHop { return redirect(request, context) }
        case .refusedThenRedirects:
            if isHop { return redirect(request, context) }
            throw Self.refusedConnection
        case .lostConnections: throw Self.lostConnection
        case .refusedConnections: throw Self.refusedConnection
        case .challenges: if send % 2 == 1 { return challenge(request, context) }
        default: break
        }
        return failure(request, context, left - delay(left))
    }

    static let lostConnection = ClientError(
        .connection, "a kept-alive connection ends",
        transfer: TransferState(.sending, lostReusedConnection: true))

    private static let refusedConnection = ClientError(
        .connection, "no connection", transfer: TransferState(.connecting))

    private func delay(_ left: Duration) -> Duration {
        switch plan {
        case .failures, .redirects, .challenges, .lostConnections, .refusedConnections,
            .refusedThenRedirects, .waits, .waitingRedirects:
            .zero
        case .copies: (stack.hedgeDelay ?? .zero) * 4 + .milliseconds(1)
        case .lateness, .lateRedirects:
            // One attempt, or one silence, is all that the client allows.
            (stack.attemptTimeout ?? .seconds(1)) - .microseconds(10)
        case .silence: .seconds(50_000)
        }
    }

    private func failure(_ request: Request, _ context: Context, _ left: Duration) -> Response {
        var headers: HTTPHeaders = [:]
        let asking: [Plan] = [.waits, .waitingRedirects, .lateness, .lateRedirects]
        let room = (left - .milliseconds(1)).components.seconds
        let longest = min(Int64(stack.longestRetryAfter), room)
        if asking.contains(plan), longest > 0 { headers[.retryAfter] = String(longest) }
        return Response(
            to: request, status: .serviceUnavailable, headers: headers, body: endless(context))
    }

    private func redirect(_ request: Request, _ context: Context) -> Response {
        let hop = state.withLock { state in
            state.hops += 1
            return state.hops
        }
        return Response(
            to: request, status: .found, headers: [.location: "http://a.example/hop\(hop)"],
            body: ResponseBody(Data()))
    }

    private func challenge(_ request: Request, _ context: Context) -> Response {
        let number = state.withLock { $0.sends }
        return Response(
            to: request, status: .unauthorized,
            headers: [
                .wwwAuthenticate:
                    "Digest realm=\"r\", nonce=\"\(number)\", qop=\"auth\", stale=true"
            ], body: ResponseBody(Data()))
    }

    // Whoever discards it reads as long as it ever reads.
    private func endless(_ context: Context) -> ResponseBody {
        if [.failures, .copies, .waits, .waitingRedirects].contains(plan) {
            return ResponseBody(Data())
        }
        return ResponseBody(Silence(context: context), length: nil)
    }
}

private struct Silence: AsyncSequence, Sendable {
    let context: Context

    struct Iterator: AsyncIteratorProtocol {
        let context: Context

        mutating func next() async throws -> Data? {
            try await context.sleep(for: .seconds(50_000))
            return nil
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(context: context) }
}
