// SPDX-License-Identifier: Apache-2.0

/// A gate that decides whether to make another attempt.
///
/// The framework does the rest: it replays the body or stops if that is impossible, discards the
/// response, waits within the deadline and starts a new attempt. The retrier is not asked about
/// cancellations.
public protocol RequestRetrier: Gate {
    /// Judges the outcome of an attempt.
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision

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
    /// Does nothing.
    public func retryWasAbandoned(_ outcome: Outcome, context: Context) {}

    /// 0: the attempt is judged at the head.
    public func keptBytes(_ outcome: Outcome, context: Context) -> Int { 0 }

    /// False: the framework sends such a request once more.
    public func decidesResend(of request: Request) -> Bool { false }
}
