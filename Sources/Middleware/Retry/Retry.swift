// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Repeats attempts that failed, if the request may be sent twice.
///
/// The rules, in order:
///
/// - A status is retried if the ``RetryPolicy`` lists the status, whether a validator is inside or
///   outside the gate. An error is retried if the policy lists the error's code. A cancellation is
///   never retried. If two attempts in a row cannot resolve the host name, the gate stops, unless a
///   condition of the policy asks for more attempts (``RetryPolicy/deciding(_:)``).
/// - If no byte of the request was written, the request may be sent again. After a 408, the request
///   may be sent again once. If bytes were written, the body must be replayable. In addition, the
///   method must be idempotent (RFC 9110 §9.2.2), the request must have an `Idempotency-Key`, or
///   the caller must allow the retry (``/TurnpikeCore/Call/retryable(_:)``). If an inner
///   ``Redirect`` has followed a 301, 302 or 303, the gate assumes that bytes were written.
/// - The wait is at least `Retry-After`, which is a number of seconds or a date. If `Retry-After`
///   is longer than `maxRetryAfter`, the gate stops. If `Retry-After` is longer than the time left,
///   the call fails immediately with ``/TurnpikeCore/ClientError/Code/deadlineExceeded``. In both
///   cases the error of the call contains the value (``/TurnpikeCore/ClientError/retryAfter``).
/// - The ``RetryBudget`` must allow a retry at the time of the decision.
/// - With ``Cooldowns``, a retry also waits until the cool-down of the origin ends. A 429 or 503
///   with `Retry-After` starts a cool-down.
///
/// The error that ends the call lists all attempts (``/TurnpikeCore/ClientError/history``), and
/// states why no other attempt was made. If a gate sends an attempt through another client, that
/// client makes only one attempt, and retries do not multiply.
///
/// If a kept-alive connection ends before a response
/// (``/TurnpikeCore/TransferState/lostReusedConnection``), the gate retries the request by the same
/// rules, but without a wait before the first retry.
///
/// The gate drains or cancels each response that the gate does not return. If the call ends, the
/// wait before an attempt ends too.
///
/// If the caller gets a value (``/TurnpikeCore/Context/collectedBytes``) and the request may be
/// sent twice, the gate buffers the content of a successful response, up to `maxKeptBytes`. If the
/// body breaks off or stalls, the gate retries the request. In this case, outer gates get the
/// response only after the content is complete, but metrics have the time of the head. The gate
/// does not buffer larger content, streams, downloads or the content of the last attempt. If
/// content breaks off that the gate does not buffer, the gate does not retry.
public struct Retry: RequestRetrier {
    private let attempts: Int
    private let policy: RetryPolicy
    private let backoff: Backoff
    private let maxRetryAfter: Duration
    private let budget: RetryBudget?
    private let maxKeptBytes: Int
    let cooldowns: Cooldowns?

    /// Creates a gate that retries.
    /// - Parameters:
    ///   - attempts: The maximum number of attempts of a call.
    ///   - policy: The outcomes that are retried.
    ///   - backoff: The wait before each attempt.
    ///   - maxRetryAfter: The longest `Retry-After` for which the gate waits.
    ///   - budget: The share of all calls that may be retried. Several clients may share a budget;
    ///     nil sets no limit.
    ///   - maxKeptBytes: The maximum number of bytes of a successful response's content, after
    ///     decoding, that the gate buffers. With 0, the gate does not retry after the head has
    ///     arrived.
    ///   - cooldowns: The cool-downs that the gate starts and waits for. If an inner `RateLimit`
    ///     has cool-downs, the retry gate needs no cool-downs.
    public init(
        attempts: Int = 3, policy: RetryPolicy = .standard, backoff: Backoff = .standard,
        maxRetryAfter: Duration = .seconds(60), budget: RetryBudget? = RetryBudget(),
        maxKeptBytes: Int = 1_048_576, cooldowns: Cooldowns? = nil
    ) {
        self.cooldowns = cooldowns
        self.attempts = attempts
        self.policy = policy
        self.backoff = backoff
        self.maxRetryAfter = maxRetryAfter
        self.budget = budget
        // The gate reads one byte beyond the limit, and the sum must not overflow.
        self.maxKeptBytes = min(max(maxKeptBytes, 0), .max - 1)
    }

    /// Returns how many bytes of content the gate buffers, or 0 if no other attempt would follow.
    public func keptBytes(_ outcome: Outcome, context: Context) -> Int {
        let mayRepeat =
            outcome.attempts < attempts && outcome.isReplayable
            && policy.mayRepeatContent(of: outcome.request)
        return mayRepeat ? maxKeptBytes : 0
    }

    /// Whether the gate returns the outcome without a decision, because the policy ignores it.
    public func settles(_ outcome: Outcome, context: Context) -> Bool {
        guard cooldowns == nil, policy.ignores(outcome) else { return false }
        if outcome.attempts == 1 {
            budget?.depositForRetry(outcome.request.origin, in: context)
        }
        return true
    }

    /// Decides whether an outcome is retried.
    public func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
        let origin = outcome.request.origin
        if outcome.attempts == 1 { budget?.depositForRetry(origin, in: context) }
        let coolingKey = cooldowns?.key(of: outcome.request)
        if let coolingKey, let head = outcome.head {
            cooldowns?.note(head, for: coolingKey, gate: gateName, in: context)
        }
        let verdict = policy.verdict(on: outcome, in: context)
        if verdict == .notListed { return .stop }
        if isUnknownAgain(outcome, in: context) {
            return stop(outcome, "the name could not be resolved twice in a row", in: context)
        }
        var wish = outcome.head?.headers.retryAfter(at: context.timeSource.date)
        if let obstacle = obstacle(to: outcome, verdict) {
            return stop(outcome, obstacle, in: context)
        }
        guard outcome.attempts < attempts else {
            // The error lists the attempts even without a reason. If the server asks for a wait,
            // the error must also state why the gate did not wait.
            if wish == nil { return .stop }
            return stop(
                outcome, "the retry is limited to \(attempts) attempt\(attempts == 1 ? "" : "s")",
                in: context)
        }
        if let coolingKey,
            let left = await cooldowns?.timeLeft(of: coolingKey, gate: gateName, in: context)
        {
            wish = max(wish ?? .zero, left)
        }
        var delay = backoff.delay(
            afterAttempt: outcome.attempts, isThrottled: outcome.isThrottled,
            previous: outcome.previousDelay, unit: context.random.unit())
        // The server has closed an idle connection, which is not a failure.
        if outcome.hasLostReusedConnection, context.lostConnections == 1 { delay = .zero }
        if let wish {
            if wish > maxRetryAfter {
                return stop(
                    outcome,
                    "the server asks to wait \(wish.text), which is longer than maxRetryAfter"
                        + " (\(maxRetryAfter.text))", in: context)
            }
            delay = max(delay, wish)
        }
        guard budget?.withdraw(for: origin, at: context.timeSource.now) ?? true else {
            context.report(
                "the retry budget for \(origin?.description ?? "?") is spent", by: gateName)
            return spent(outcome, in: context)
        }
        return .retry(after: delay)
    }

    /// States the number of attempts and the longest waits between them.
    ///
    /// If `maxRetryAfter` is longer than the back-off, the waits come from `maxRetryAfter`.
    public func facts(for request: Request?) -> GateFacts? {
        guard attempts > 1 else {
            return GateFacts(
                "makes one attempt", passedOver: request.map { _ in "it makes one attempt" })
        }
        let waits = longestWaits
        let total = waits.map { $0.text } ?? "any time"
        var facts = GateFacts(
            "makes up to \(attempts) attempts, and waits \(total) at most between them",
            .retries(
                attempts: attempts, waits: waits,
                repeatsUnsafe: policy.repeatsUnsafe(request)
                    && request?.headers.contains(.idempotencyKey) != true))
        if keepsContent(of: request) {
            facts.effects.append(.readsContent(upTo: Int64(maxKeptBytes)))
        }
        if let use = cooldowns?.sharedUse { facts.effects.append(use) }
        if request?.options[RetryableOption.self] == false {
            facts.passedOver = "the call is marked as not retryable"
        }
        return facts
    }

    private func keepsContent(of request: Request?) -> Bool {
        guard maxKeptBytes > 0 else { return false }
        return request.map {
            !$0.options.isStreaming && $0.body.isReplayable && policy.mayRepeatContent(of: $0)
        } ?? true
    }

    // Returns the sum of the waits, or nil if there are too many attempts.
    private var longestWaits: Duration? {
        if attempts > 1000 { return nil }
        let asked = policy.mayHeedServer ? maxRetryAfter : .zero
        var sum = Duration.zero
        var previous: Duration?
        for number in 1..<attempts {
            let own = backoff.longestDelay(afterAttempt: number, previous: previous)
            let wait = min(max(own, asked), .seconds(1 << 40))
            sum += wait
            previous = wait
        }
        return sum
    }

    // Transports cannot distinguish a name that does not exist from a resolver that fails
    // temporarily. A second attempt shows the difference.
    private func isUnknownAgain(_ outcome: Outcome, in context: Context) -> Bool {
        let (was, isUnknown) = (context[UnknownName.self], outcome.code == .dns)
        if was != isUnknown { context[UnknownName.self] = isUnknown }
        return was && isUnknown && !policy.insists(on: outcome)
    }

    private func obstacle(to outcome: Outcome, _ verdict: RetryPolicy.Verdict) -> String? {
        if verdict == .notRepeatable {
            return outcome.request.options[RetryableOption.self] == false
                ? "the call is marked as not retryable"
                : "\(outcome.request.method) may have an effect each time; mark the call with"
                    + " retryable(), or give it an Idempotency-Key"
        }
        return outcome.isReplayable ? nil : "the request's body cannot be sent a second time"
    }

    /// Returns a reserved retry to the budget, because the gate did not send the retry.
    public func retryWasAbandoned(_ outcome: Outcome, context: Context) {
        budget?.giveBack(for: outcome.request.origin, at: context.timeSource.now)
    }

    /// The used part of the budget.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        budget?.liveFigures(at: now) ?? []
    }

    /// Flushes the meter of the budget.
    public func shutdown() async { await budget?.flush() }

    // Ends the retries, and adds the reason to the error.
    private func stop(
        _ outcome: Outcome, _ reason: String, in context: Context
    ) -> RetryDecision {
        context.willNotRetry(outcome, because: reason)
        return .stop
    }

    private func spent(_ outcome: Outcome, in context: Context) -> RetryDecision {
        guard let error = outcome.error else {
            return stop(outcome, "the retry budget of the origin is spent", in: context)
        }
        return .fail(
            ClientError(
                .retryBudget,
                "too many calls to this origin fail: the retry budget is spent",
                underlying: error, response: outcome.head, transfer: outcome.transfer))
    }
}

extension Retry: PromptlyCancellable {}

/// Whether the previous attempt could not resolve the name of the host.
private enum UnknownName: ContextKey {
    static var defaultValue: Bool { false }
}

extension Retry {
    /// Whether the policy may repeat the request within the number of attempts.
    public func decidesResend(of request: Request) -> Bool {
        attempts <= 1 || policy.mayRepeat(request, after: .connection)
    }
}

extension Gate where Self == Retry {
    /// Retries failed attempts; see
    /// ``Retry/init(attempts:policy:backoff:maxRetryAfter:budget:maxKeptBytes:cooldowns:)``.
    public static func retry(
        attempts: Int = 3, policy: RetryPolicy = .standard, backoff: Backoff = .standard,
        maxRetryAfter: Duration = .seconds(60), budget: RetryBudget? = RetryBudget(),
        maxKeptBytes: Int = 1_048_576, cooldowns: Cooldowns? = nil
    ) -> Self {
        Retry(
            attempts: attempts, policy: policy, backoff: backoff, maxRetryAfter: maxRetryAfter,
            budget: budget, maxKeptBytes: maxKeptBytes,
            cooldowns: cooldowns)
    }
}

extension Outcome {
    var isThrottled: Bool { status == .tooManyRequests || status == .serviceUnavailable }
}
