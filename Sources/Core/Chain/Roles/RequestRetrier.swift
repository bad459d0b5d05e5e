// SPDX-License-Identifier: Apache-2.0

/// A gate that decides whether to make another attempt.
///
/// For another attempt, the framework sends the body again, or stops if the body is not replayable.
/// The framework discards the response, waits within the deadline, and starts the attempt. The
/// retrier does not decide about cancellations.
public protocol RequestRetrier: Gate {
    /// Decides whether another attempt follows an outcome.
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision

    /// Whether an outcome is a plain success that needs no ``retry(_:context:)``; false by default.
    func settles(_ outcome: Outcome, context: Context) -> Bool

    /// Runs if the call ends during a wait, before the attempt that the retrier has allowed.
    func retryWasAbandoned(_ outcome: Outcome, context: Context)

    /// How many bytes of a successful response's content the framework reads before the decision.
    ///
    /// If the content breaks off within this number of bytes, the attempt counts as failed. The
    /// default is 0: the retrier decides at the head.
    ///
    /// The framework calls this method at the head of a successful response if the content is
    /// incomplete and the caller gets a value of the whole content (``Context/collectedBytes``). If
    /// the content is larger, the caller gets a stream that starts with the bytes already read.
    func keptBytes(_ outcome: Outcome, context: Context) -> Int

    /// Whether this retrier decides about a request whose kept-alive connection was lost.
    ///
    /// In this case, the connection ended before an answer
    /// (``TransferState/lostReusedConnection``). If true, only the retrier decides whether the
    /// request is sent again. The default is false: the framework sends a repeatable request once
    /// more in the call.
    func decidesResend(of request: Request) -> Bool
}

extension RequestRetrier {
    /// False by default: the retrier decides about each outcome.
    public func settles(_ outcome: Outcome, context: Context) -> Bool { false }

    /// Does nothing by default.
    public func retryWasAbandoned(_ outcome: Outcome, context: Context) {}

    /// 0 by default: the retrier decides at the head.
    public func keptBytes(_ outcome: Outcome, context: Context) -> Int { 0 }

    /// False by default: the framework decides.
    public func decidesResend(of request: Request) -> Bool { false }
}

/// The decision of a retrier after an attempt.
public enum RetryDecision: Sendable {
    /// Return the response of the outcome, or throw the error of the outcome.
    case stop
    /// Make another attempt after a wait.
    case retry(after: Duration)
    /// End the call with another error.
    ///
    /// No gate may retry a part of the call. Outer retry gates and hedges stop, and no gate follows
    /// a redirect or a challenge in the outcome. Calls that share the exchange end as well. An
    /// outer gate may still return another result, as a fallback does.
    ///
    /// A ``ClientError`` gets the outcome's error as ``ClientError/underlying`` and the outcome's
    /// response as ``ClientError/response``, if these properties are nil.
    case fail(any Error)
}
