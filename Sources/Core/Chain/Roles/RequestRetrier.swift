// SPDX-License-Identifier: Apache-2.0

/// A gate that decides whether to make another attempt.
///
/// The framework replays the body, or stops if that is impossible. The framework discards the
/// response, waits within the deadline and starts a new attempt. Cancellations are not judged.
public protocol RequestRetrier: Gate {
    /// Judges the outcome of an attempt.
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision

    /// Whether an outcome is a plain success and needs no ``retry(_:context:)``; false by default.
    func settles(_ outcome: Outcome, context: Context) -> Bool

    /// Called if the call ends during a wait, before the attempt that the retrier has allowed.
    func retryWasAbandoned(_ outcome: Outcome, context: Context)

    /// How many bytes of a successful response's content are read before the attempt is judged.
    ///
    /// If content breaks off within these bytes, the attempt is judged as if the head were missing.
    /// The default is 0: the attempt is judged at the head.
    ///
    /// Called at the head of a successful response if the content is incomplete and the caller gets
    /// a value of the whole content (``Context/collectedBytes``). If the content is larger, the
    /// caller gets it as a stream that starts with the bytes already read.
    func keptBytes(_ outcome: Outcome, context: Context) -> Int

    /// Whether this retrier decides about a request whose kept-alive connection was lost.
    ///
    /// The connection ended before an answer (``TransferState/lostReusedConnection``). If true,
    /// only the retrier decides, and may decide against a second send. The default is false: the
    /// framework sends a repeatable request once more in the call.
    func decidesResend(of request: Request) -> Bool
}

extension RequestRetrier {
    /// False: each outcome is judged.
    public func settles(_ outcome: Outcome, context: Context) -> Bool { false }

    /// Does nothing.
    public func retryWasAbandoned(_ outcome: Outcome, context: Context) {}

    /// 0: the attempt is judged at the head.
    public func keptBytes(_ outcome: Outcome, context: Context) -> Int { 0 }

    /// False: the framework decides.
    public func decidesResend(of request: Request) -> Bool { false }
}

/// The decision after an attempt.
public enum RetryDecision: Sendable {
    /// Accept the outcome: return its response or throw its error.
    case stop
    /// Make another attempt after a wait.
    case retry(after: Duration)
    /// End the call with another error.
    ///
    /// No part of the call is retried any more. Outer retries and hedges stop, and redirects and
    /// challenges in the outcome are not followed. Calls that share the exchange end as well. An
    /// outer gate may still return another result, as a fallback does.
    ///
    /// A ``ClientError`` gets the outcome's error as ``ClientError/underlying`` and the outcome's
    /// response as ``ClientError/response``, unless these are set.
    case fail(any Error)
}
