// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Defines which outcomes are retried, by status, error, method, and a condition of the caller.
///
/// ``or(_:)`` combines two policies, and ``deciding(_:)`` adds a closure that decides first.
///
/// ```swift
/// let policy = RetryPolicy.standard
///     .or(RetryPolicy(statuses: [409], codes: []))
///     .deciding { $0.head?.headers["X-Final"] == "1" ? false : nil }
/// ```
///
/// If the caller marks a call (``/TurnpikeCore/Call/retryable(_:)``), the mark and not the method
/// decides whether the request may be sent twice.
public struct RetryPolicy: Sendable {
    /// The statuses that are retried.
    public var statuses: Set<HTTPStatus>
    /// The codes of errors that are retried.
    public var codes: Set<ClientError.Code>
    /// The methods that may be sent twice.
    public var methods: Set<HTTPMethod>
    private var condition: (@Sendable (Outcome) -> Bool?)?
    // The policies that ``or(_:)`` has added. Each policy uses only the policy's own rules.
    private var alternatives: [RetryPolicy] = []

    /// Creates a policy.
    /// - Parameters:
    ///   - statuses: The statuses that are retried. The default contains the statuses of temporary
    ///     failures.
    ///   - codes: The codes of errors that are retried. The default contains the failures of the
    ///     network.
    ///   - methods: The methods that may be sent twice. The default contains the idempotent methods
    ///     and QUERY.
    public init(
        statuses: Set<HTTPStatus> = [408, 425, 429, 500, 502, 503, 504],
        codes: Set<ClientError.Code> = [
            .connection, .dns, .connectTimeout, .attemptTimeout, .incomplete, .idleTimeout,
        ],
        methods: Set<HTTPMethod> = [.get, .head, .options, .trace, .query, .put, .delete]
    ) {
        self.statuses = statuses
        self.codes = codes
        self.methods = methods
    }

    /// The policy with all defaults.
    public static let standard = RetryPolicy()

    /// A policy that retries nothing.
    public static let never = RetryPolicy(statuses: [], codes: [])

    /// Returns a policy that retries the outcomes that this policy or the other policy retries.
    ///
    /// The methods of one policy do not apply to the statuses of the other policy. The policy of
    /// the example retries like the standard policy. In addition, the policy retries a POST after a
    /// 429, or after a 503 with `Retry-After`. The policy does not retry a POST after a 500:
    ///
    /// ```swift
    /// let whenBusy = RetryPolicy(statuses: [429], codes: [], methods: [.post])
    ///     .deciding { $0.status == 503 && $0.head?.headers[.retryAfter] != nil ? true : nil }
    /// let policy = RetryPolicy.standard.or(whenBusy)
    /// ```
    ///
    /// To add a condition for both policies, call ``deciding(_:)`` on the result. The result has
    /// the properties of this policy, such as ``methods``. If you change a property of the result,
    /// the rules of the other policy do not change.
    /// - Parameter other: The other policy.
    /// - Returns: The combined policy.
    public func or(_ other: RetryPolicy) -> RetryPolicy {
        var copy = self
        copy.alternatives.append(other)
        return copy
    }

    /// Returns the policy with a condition that decides first.
    /// - Parameter condition: Returns true to retry an outcome, false for no retry, or nil to apply
    ///   the policy. The rules on methods and bodies still apply. If the policy is a
    ///   combination (``or(_:)``), the gate may call the condition once for each of the policies.
    /// - Returns: The policy with the condition.
    public func deciding(_ condition: @escaping @Sendable (Outcome) -> Bool?) -> RetryPolicy {
        var copy = self
        let before = self.condition
        copy.condition = { condition($0) ?? before?($0) }
        copy.alternatives = alternatives.map { $0.deciding(condition) }
        return copy
    }

    /// The verdict of a policy about an outcome.
    ///
    /// For a combination of policies, the greatest verdict counts.
    enum Verdict: Int {
        /// Neither the statuses, the error codes nor the condition ask for a retry.
        case notListed
        /// The policy asks for a retry, but the request must not be sent a second time.
        case notRepeatable
        case retry
    }

    func verdict(on outcome: Outcome, in context: Context) -> Verdict {
        var verdict = Verdict.notListed
        if condition?(outcome) ?? isListed(outcome) {
            verdict = maySendAgain(outcome, in: context) ? .retry : .notRepeatable
        }
        for alternative in alternatives where verdict != .retry {
            let other = alternative.verdict(on: outcome, in: context)
            if other.rawValue > verdict.rawValue { verdict = other }
        }
        return verdict
    }

    /// Whether the outcome is not listed, and no condition could ask for a retry.
    func ignores(_ outcome: Outcome) -> Bool {
        condition == nil && !isListed(outcome) && alternatives.allSatisfy { $0.ignores(outcome) }
    }

    /// Whether the caller's condition asks for a retry, without the listed statuses and codes.
    func insists(on outcome: Outcome) -> Bool {
        condition?(outcome) == true || alternatives.contains { $0.insists(on: outcome) }
    }

    func mayRepeatContent(of request: Request) -> Bool { mayRepeat(request, after: .incomplete) }

    /// Whether a request may be repeated after an error, although the server may have performed it.
    func mayRepeat(_ request: Request, after code: ClientError.Code) -> Bool {
        let mayRepeat =
            request.options[RetryableOption.self] != false && !request.options.isOneTime
            && mayBeSentTwice(request) && (condition != nil || codes.contains(code))
        return mayRepeat || alternatives.contains { $0.mayRepeat(request, after: code) }
    }

    /// Whether the policy can retry a status that `Retry-After` may accompany.
    var mayHeedServer: Bool {
        !statuses.isEmpty || condition != nil || alternatives.contains { $0.mayHeedServer }
    }

    // Whether a request that is not idempotent may be repeated, although a server may have
    // processed the request. If the request is nil, the result applies to any request that is not
    // idempotent and that its caller has not marked.
    func repeatsUnsafe(_ request: Request?) -> Bool {
        if request?.options[RetryableOption.self] == false { return false }
        let present = request.map { methods.contains($0.method) ? [$0.method] : [] }
        let unsafe = (present ?? Array(methods)).contains { !$0.isIdempotent }
        return unsafe || request.map { !$0.method.isIdempotent && $0.options.isRetryable } ?? false
            || alternatives.contains { $0.repeatsUnsafe(request) }
    }

    private func maySendAgain(_ outcome: Outcome, in context: Context) -> Bool {
        let request = outcome.request
        if request.options[RetryableOption.self] == false { return false }
        if outcome.isUnsent { return true }
        if request.options.isOneTime { return false }
        if mayBeSentTwice(request) { return true }
        // A 408 means that the server did not receive the whole request (RFC 9110 §15.5.9). Often
        // the server sent the 408 over an idle connection before the request arrived. After a
        // second 408, the gate does not repeat the request, because the server may have performed
        // the request. OkHttp also repeats a request of any method once after a 408.
        return outcome.status == 408 && !outcome.mayHaveEffect(in: context)
            && !Self.wasRepeated(outcome, context)
    }

    private static func wasRepeated(_ outcome: Outcome, _ context: Context) -> Bool {
        let known = context.history.count { $0.status == 408 }
        // The history contains this outcome, unless the outcome belongs to the first attempt.
        return known > (outcome.attempts > 1 ? 1 : 0)
    }

    private func mayBeSentTwice(_ request: Request) -> Bool {
        methods.contains(request.method) || request.options.isRetryable
            || request.headers.contains(.idempotencyKey)
    }

    private func isListed(_ outcome: Outcome) -> Bool {
        if outcome.error == nil || outcome.code == .validation, let status = outcome.status {
            return statuses.contains(status)
        }
        // A status from a proxy counts like a status from the server.
        if let status = outcome.proxyStatus { return statuses.contains(status) }
        return outcome.code.map(codes.contains) ?? false
    }
}
