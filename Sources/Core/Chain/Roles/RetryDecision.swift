// SPDX-License-Identifier: Apache-2.0

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
