// SPDX-License-Identifier: Apache-2.0

/// A gate that decides whether to make another attempt.
///
/// The framework does the rest: it replays the body or stops if that is impossible, discards the
/// response, waits within the deadline and starts a new attempt. The retrier is not asked about
/// cancellations.
public protocol RequestRetrier: Gate {
    /// Judges the outcome of an attempt.
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision

    /// Whether an outcome needs no judgement, because it is a plain success.
    ///
    /// If true, ``retry(_:context:)`` is not called. The default false leaves every outcome to it.
    func settles(_ outcome: Outcome, context: Context) -> Bool

    /// Called if a decided attempt is not made, because the call ended during the wait.
    func retryWasAbandoned(_ outcome: Outcome, context: Context)

    /// How many bytes of a successful response's content are read before the attempt is judged, so
    /// that content that breaks off is judged like a missing head.
    ///
    /// The default 0 judges at the head.
    ///
    /// Called at the head of a successful response if the caller gets a value of the whole content
    /// (``Context/collectedBytes``) and the content is incomplete. Larger content is passed to the
    /// caller as a stream that starts with the bytes already read.
    func keptBytes(_ outcome: Outcome, context: Context) -> Int

    /// Whether this retrier decides about a request whose kept-alive connection ended before an
    /// answer (``TransferState/lostReusedConnection``), even if its decision is no further attempt.
    ///
    /// The default false leaves such a request to the framework, which sends a repeatable one once
    /// more in the call.
    func decidesResend(of request: Request) -> Bool
}

extension RequestRetrier {
    /// False: each outcome is judged.
    public func settles(_ outcome: Outcome, context: Context) -> Bool { false }

    /// Does nothing.
    public func retryWasAbandoned(_ outcome: Outcome, context: Context) {}

    /// 0: the attempt is judged at the head.
    public func keptBytes(_ outcome: Outcome, context: Context) -> Int { 0 }

    /// False: the framework sends such a request once more.
    public func decidesResend(of request: Request) -> Bool { false }
}

/// What happens after an attempt.
public enum RetryDecision: Sendable {
    /// Accept the outcome: its response is returned or its error thrown.
    case stop
    /// Make another attempt after a wait.
    case retry(after: Duration)
    /// End the call with another error.
    ///
    /// Nothing in the call is retried any more: outer retries do not ask their policies, hedges do
    /// not wait for another response, and redirects and challenges in the outcome are not followed.
    /// Calls that share the exchange end as well. An outer gate may still return something else
    /// instead, as a fallback does. A ``ClientError`` gets the outcome's error as
    /// ``ClientError/underlying`` and its response as ``ClientError/response``, unless they are
    /// already set.
    case fail(any Error)
}
