// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// The outcomes that are retried: statuses, errors, methods, and a condition of the caller.
///
/// Policies compose: ``or(_:)`` retries an outcome if one of two policies does, and
/// ``deciding(_:)`` calls a closure first.
///
/// ```swift
/// let policy = RetryPolicy.standard
///     .or(RetryPolicy(statuses: [409], codes: []))
///     .deciding { $0.head?.headers["X-Final"] == "1" ? false : nil }
/// ```
///
/// If its caller marks a call (``/TurnpikeCore/Call/retryable(_:)``), the mark and not the method
/// decides whether the call may be sent twice.
public struct RetryPolicy: Sendable {
    /// The statuses that are retried.
    public var statuses: Set<HTTPStatus>
    /// The codes of errors that are retried.
    public var codes: Set<ClientError.Code>
    /// The methods that may be sent twice.
    public var methods: Set<HTTPMethod>
    private var condition: (@Sendable (Outcome) -> Bool?)?
    // The policies that this one was joined with. Each policy uses only its own rules.
    private var alternatives: [RetryPolicy] = []

    /// Creates a policy.
    /// - Parameters:
    ///   - statuses: The statuses that are retried; by default the statuses of temporary failures.
    ///   - codes: The codes of errors that are retried; by default those of the network.
    ///   - methods: The methods that may be sent twice; by default the idempotent ones and QUERY.
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

    /// The defaults.
    public static let standard = RetryPolicy()

    /// Retries nothing.
    public static let never = RetryPolicy(statuses: [], codes: [])

    /// Returns a policy that retries an outcome if this policy or another one retries it.
    ///
    /// Each policy decides as a whole, with its condition: the methods of one policy do not apply
    /// to the statuses of the other. This policy retries like the standard policy and, in addition,
    /// retries a POST after a 429, or after a 503 with `Retry-After`. After a 500, a POST is not
    /// sent again:
    ///
    /// ```swift
    /// let whenBusy = RetryPolicy(statuses: [429], codes: [], methods: [.post])
    ///     .deciding { $0.status == 503 && $0.head?.headers[.retryAfter] != nil ? true : nil }
    /// let policy = RetryPolicy.standard.or(whenBusy)
    /// ```
    ///
    /// Add a condition for both policies to the result (``deciding(_:)``). The properties of the
    /// result, such as ``methods``, come from this policy. A change of these properties does not
    /// change the rules of the other policy.
    /// - Parameter other: The other policy.
    /// - Returns: The policy.
    public func or(_ other: RetryPolicy) -> RetryPolicy {
        var copy = self
        copy.alternatives.append(other)
        return copy
    }

    /// Returns the policy with a condition that is checked first.
    /// - Parameter condition: true retries an outcome, false does not, nil leaves the decision to
    ///   the policy. The rules on methods and bodies hold in any case. If the policy was joined
    ///   with others (``or(_:)``), the condition decides for each of them, and may be called once
    ///   for each.
    /// - Returns: The policy.
    public func deciding(_ condition: @escaping @Sendable (Outcome) -> Bool?) -> RetryPolicy {
        var copy = self
        let before = self.condition
        copy.condition = { condition($0) ?? before?($0) }
        copy.alternatives = alternatives.map { $0.deciding(condition) }
        return copy
    }

    /// The verdict of a policy about an outcome; the greatest verdict of its alternatives counts.
    enum Verdict: Int {
        /// The statuses, errors and condition do not ask for a retry.
        case notListed
        /// The rules match, but the request must not be sent a second time.
        case notRepeatable
        /// The request may be sent again.
        case retry
    }

    /// Judges an outcome by this policy and its alternatives, each as a whole.
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

    /// Whether an outcome is not listed, and no condition could ask for a retry.
    func ignores(_ outcome: Outcome) -> Bool {
        condition == nil && !isListed(outcome) && alternatives.allSatisfy { $0.ignores(outcome) }
    }

    /// Whether the caller's condition asks for a retry, independently of the lists.
    func insists(on outcome: Outcome) -> Bool {
        condition?(outcome) == true || alternatives.contains { $0.insists(on: outcome) }
    }

    /// Whether content that breaks off may be requested again.
    func mayRepeatContent(of request: Request) -> Bool { mayRepeat(request, after: .incomplete) }

    /// Whether a request may be repeated after an error, although a server may have acted on it.
    func mayRepeat(_ request: Request, after code: ClientError.Code) -> Bool {
        let mayRepeat =
            request.options[RetryableOption.self] != false && !request.options.isOneTime
            && mayBeSentTwice(request) && (condition != nil || codes.contains(code))
        return mayRepeat || alternatives.contains { $0.mayRepeat(request, after: code) }
    }

    /// Whether a wait that a server asks for may count, because a status may be retried.
    var mayHeedServer: Bool {
        !statuses.isEmpty || condition != nil || alternatives.contains { $0.mayHeedServer }
    }

    /// Whether a request that is not idempotent may be repeated although a server may have
    /// processed it.
    ///
    /// With nil, the answer is for any such request without a mark of its caller.
    func repeatsUnsafe(_ request: Request?) -> Bool {
        if request?.options[RetryableOption.self] == false { return false }
        let present = request.map { methods.contains($0.method) ? [$0.method] : [] }
        let unsafe = (present ?? Array(methods)).contains { !$0.isIdempotent }
        return unsafe || request.map { !$0.method.isIdempotent && $0.options.isRetryable } ?? false
            || alternatives.contains { $0.repeatsUnsafe(request) }
    }

    // Whether the request of an outcome may be sent a second time.
    private func maySendAgain(_ outcome: Outcome, in context: Context) -> Bool {
        let request = outcome.request
        if request.options[RetryableOption.self] == false { return false }
        if outcome.isUnsent { return true }
        if request.options.isOneTime { return false }
        if mayBeSentTwice(request) { return true }
        // A 408 means that the server did not receive the whole request (RFC 9110 §15.5.9). Often
        // the 408 was already on its way over an idle connection, and does not answer this request.
        // A second 408 is not a coincidence: a server that answers a complete request in this way
        // may have acted on it. OkHttp also repeats any method after a 408, once.
        return outcome.status == 408 && !Self.hasEffect(outcome, context)
            && !Self.wasRepeated(outcome, context)
    }

    // Whether an attempt before this one was answered with 408 as well.
    private static func wasRepeated(_ outcome: Outcome, _ context: Context) -> Bool {
        let known = context.history.count { $0.status == 408 }
        // The history contains this outcome, unless the outcome is that of the first attempt.
        return known > (outcome.attempts > 1 ? 1 : 0)
    }

    private func mayBeSentTwice(_ request: Request) -> Bool {
        methods.contains(request.method) || request.options.isRetryable
            || request.headers.contains(.idempotencyKey)
    }

    // Whether a redirect inside came from a server that may have performed the request. A 408 of
    // the next server does not answer that request.
    private static func hasEffect(_ outcome: Outcome, _ context: Context) -> Bool {
        let before = outcome.request.options[RedirectTrail.self]?.count ?? 0
        return context.hops.dropFirst(before).contains {
            RedirectRules.mayHaveEffect($0.status)
        }
    }

    private func isListed(_ outcome: Outcome) -> Bool {
        if outcome.error == nil || outcome.code == .validation, let status = outcome.status {
            return statuses.contains(status)
        }
        // The status of a proxy's response is judged like the status of a server's response.
        if let status = outcome.proxyStatus { return statuses.contains(status) }
        return outcome.code.map(codes.contains) ?? false
    }
}
