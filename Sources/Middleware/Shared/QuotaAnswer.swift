// SPDX-License-Identifier: Apache-2.0

/// How a shared quota answers a request.
public enum QuotaAnswer: Sendable, Hashable {
    /// Permits were taken.
    case granted(QuotaGrant)
    /// Nothing was taken: the first permit would come later than the request's
    /// ``QuotaRequest/reach``. It comes after this time.
    case exhausted(retryAfter: Duration)
    /// Nothing was taken: a cool-down of the same key holds for this time (``CooldownStore``).
    case coolingDown(Duration)
}
