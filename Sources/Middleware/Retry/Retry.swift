public import TurnpikeCore

/// Tries again what failed and may be sent twice.
///
/// The rules, in order:
///
/// - A status is tried again if the ``RetryPolicy`` lists it, whether a validator stands inside or
///   outside; an error if its code is listed. A cancellation never is.
/// - Nothing of the request was written, or it was answered with 408: it may be sent again. Bytes
///   were written: only an idempotent method (RFC 9110 §9.2.2), a request with an
///   `Idempotency-Key`, or one that the caller vouches for (``/TurnpikeCore/Call/retryable(_:)``),
///   and only with a body that can be replayed. Behind a 301, 302 or 303 that a ``Redirect`` inside
///   has followed, bytes were written, however the next hop fails.
/// - `Retry-After`, in seconds or as a date, is never undercut. One above the cap ends the retries;
///   one above the time left is ``/TurnpikeCore/ClientError/Code/deadlineExceeded`` at once. Whatever
///   becomes of it, the call's error has it (``/TurnpikeCore/ClientError/retryAfter``).
/// - The ``RetryBudget`` must have room when the decision is made.
///
/// The error that ends the call tells of all attempts
/// (``/TurnpikeCore/ClientError/history``), and says why the last one was not followed by another.
/// A client that is used inside a retrying call of another makes one attempt, so that retries do not
/// multiply.
///
/// A response that is given up is drained or cancelled, and the wait ends with the call.
///
/// Where the caller gets a value (``/TurnpikeCore/Context/collectedBytes``) and the request may be
/// sent twice, a success's content is read before the attempt is let go of, up to `maxKeptBytes`:
/// what breaks off or stands still before is tried again. Gates outside of the retry get the
/// response then, with its content; metrics have the time of its head all the same. Larger content,
/// streams, downloads and the content of the last attempt go on as they come, and what breaks off
/// there is not tried again.
public struct Retry: RequestRetrier {
    private let attempts: Int
    private let policy: RetryPolicy
    private let backoff: Backoff
    private let maxRetryAfter: Duration
    private let budget: RetryBudget?
    private let maxKeptBytes: Int

    /// Creates a gate that tries again.
    /// - Parameters:
    ///   - attempts: How many attempts a call makes in all.
    ///   - policy: What is tried again.
    ///   - backoff: How long it waits.
    ///   - maxRetryAfter: The longest `Retry-After` that is honoured.
    ///   - budget: What part of all calls may be tried again; one object may serve several clients.
    ///     nil sets no bound.
    ///   - maxKeptBytes: The most bytes of a success's content, after decoding, that are held in
    ///     memory until it has come whole. 0 lets the head end the retries.
    public init(
        attempts: Int = 3, policy: RetryPolicy = .standard, backoff: Backoff = .standard,
        maxRetryAfter: Duration = .seconds(60), budget: RetryBudget? = RetryBudget(),
        maxKeptBytes: Int = 1_048_576
    ) {
        self.attempts = attempts
        self.policy = policy
        self.backoff = backoff
        self.maxRetryAfter = maxRetryAfter
        self.budget = budget
        // A body is read until there is more.
        self.maxKeptBytes = min(max(maxKeptBytes, 0), .max - 1)
    }

    /// How much of the content is kept: none where the next attempt would not be made.
    public func keptBytes(_ outcome: Outcome, context: Context) -> Int {
        let mayRepeat =
            outcome.attempts < attempts && outcome.isReplayable
            && policy.mayRepeatContent(of: outcome.request)
        return mayRepeat ? maxKeptBytes : 0
    }

    /// Judges an outcome.
    public func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
        let origin = outcome.request.origin
        if outcome.attempts == 1 { budget?.depositForRetry(origin, in: context) }
        guard policy.lists(outcome) else { return .stop }
        let wish = RetryAfter.delay(in: outcome.head, now: context.timeSource.date)
        if let obstacle = obstacle(to: outcome, in: context) {
            return stop(outcome, obstacle, in: context)
        }
        guard outcome.attempts < attempts else {
            // The error tells of the attempts anyway; but who reads how long the server asks to wait
            // is not to wonder whether anybody did.
            if wish == nil { return .stop }
            return stop(
                outcome, "the retry makes \(attempts) attempt\(attempts == 1 ? "" : "s")",
                in: context)
        }
        var delay = backoff.delay(
            afterAttempt: outcome.attempts, isThrottled: outcome.isThrottled,
            previous: outcome.previousDelay, unit: context.random.unit())
        if let wish {
            if wish > maxRetryAfter {
                return stop(
                    outcome,
                    "the server asks to wait \(wish.text), and a Retry-After above"
                        + " \(maxRetryAfter.text) is not obeyed (maxRetryAfter)", in: context)
            }
            delay = max(delay, wish)
        }
        guard budget?.withdraw(for: origin, at: context.timeSource.now) ?? true else {
            context.note(gate: name, "the retry budget for \(origin?.description ?? "?") is spent")
            return spent(outcome, in: context)
        }
        return .retry(after: delay)
    }

    // Why the request may not be sent a second time.
    private func obstacle(to outcome: Outcome, in context: Context) -> String? {
        if !policy.maySendAgain(outcome, in: context) {
            return outcome.request.options[RetryableOption.self] == false
                ? "the call is marked as one that is sent once (retryable)"
                : "\(outcome.request.method) may have an effect each time; mark the call with"
                    + " retryable(), or give it an Idempotency-Key"
        }
        return outcome.isReplayable ? nil : RetryStop.oneShotBody
    }

    /// Returns to the budget what was reserved.
    public func retryWasAbandoned(_ outcome: Outcome, context: Context) {
        budget?.giveBack(for: outcome.request.origin, at: context.timeSource.now)
    }

    /// Writes what the budget's meter holds, where a stack file named the place.
    public func shutdown() async { await budget?.flush() }

    // The outcome stands, and the error that comes of it says why.
    private func stop(
        _ outcome: Outcome, _ reason: String, in context: Context
    ) -> RetryDecision {
        context.call.record.lastStop = RetryStop(outcome, reason)
        return .stop
    }

    private func spent(_ outcome: Outcome, in context: Context) -> RetryDecision {
        guard let error = outcome.error else {
            return stop(outcome, "the retry budget of its origin is spent", in: context)
        }
        return .fail(
            ClientError(
                .retryBudget,
                "too many calls to this origin fail: the retry budget is spent, the attempt stands",
                underlying: error, response: outcome.head, transfer: outcome.transfer))
    }
}

extension Retry: Heeding {}

extension Gate where Self == Retry {
    /// Tries again what failed; see
    /// ``Retry/init(attempts:policy:backoff:maxRetryAfter:budget:maxKeptBytes:)``.
    public static func retry(
        attempts: Int = 3, policy: RetryPolicy = .standard, backoff: Backoff = .standard,
        maxRetryAfter: Duration = .seconds(60), budget: RetryBudget? = RetryBudget(),
        maxKeptBytes: Int = 1_048_576
    ) -> Self {
        Retry(
            attempts: attempts, policy: policy, backoff: backoff, maxRetryAfter: maxRetryAfter,
            budget: budget, maxKeptBytes: maxKeptBytes)
    }
}

extension Outcome {
    /// Whether the server asked to be left alone for a while.
    var isThrottled: Bool { status == .tooManyRequests || status == .serviceUnavailable }
}
