// SPDX-License-Identifier: Apache-2.0

/// A kind of gate, told by one of its effects.
public enum GateKind: Sendable, Hashable, CaseIterable {
    /// ``GateEffect/retries(attempts:waits:repeatsUnsafe:)``
    case retry
    /// ``GateEffect/hedges(copies:after:)``
    case hedge
    /// ``GateEffect/redirects(hops:)``
    case redirect
    /// ``GateFieldContent/secret(isBound:variesByCall:)``, but no cookies
    case authentication
    /// ``GateEffect/storesResponses``
    case cache
    /// ``GateAnswer/shared``
    case coalesce
    /// ``GateEffect/limitsTime(_:_:)`` up to ``GateTimeExtent/body``
    case deadline
    /// ``GateEffect/limitsTime(_:_:)`` up to ``GateTimeExtent/head``
    case attemptTimeout
    /// ``GateEffect/limitsConcurrency(_:)``
    case concurrencyLimit
    /// ``GateEffect/limitsRate(_:per:)``
    case rateLimit
    /// ``GateEffect/breaksCircuit``
    case circuitBreaker
    /// ``GateEffect/choosesEndpoint(for:)``
    case endpoints
    /// ``GateEffect/rejectsResponses``
    case validation
    /// ``GateEffect/keepsCookies``
    case cookies
    /// ``GateEffect/logs(content:)``
    case log
    /// ``GateEffect/measures(hasBoundedLabels:)``
    case metrics
}
