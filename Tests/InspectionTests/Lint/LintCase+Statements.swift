// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeCore
import TurnpikeTraffic

// What gates state.
extension LintCase {
    static let statements: [LintCase] = [
        LintCase(
            "stated-order", [.traceContext(), .retry()], [.retry(), .traceContext()],
            "TraceContext must stand inside of Retry. All attempts"),
        LintCase(
            "stated-order", [.cookies(), .hsts()], [.hsts(), .cookies()],
            "HSTS must stand outside of Cookies"),
        LintCase(
            "stated-order", [.circuitBreaker(), .hedge()], [.hedge(), .circuitBreaker()],
            "Hedge must stand outside of CircuitBreaker"),
        LintCase(
            "stated-order", [.admissionControl(), .retry(), .attemptTimeout()],
            [.retry(), .admissionControl(), .attemptTimeout()],
            "AdmissionControl must stand inside of Retry. The gate would see calls"),
        LintCase(
            "stated-order", [.circuitBreaker(), .admissionControl(), .attemptTimeout()],
            [.admissionControl(), .circuitBreaker(), .attemptTimeout()],
            "AdmissionControl must stand outside of CircuitBreaker"),
        LintCase(
            "stated-order",
            [
                .rateLimit(perSecond: 5), .concurrencyLimit(), .admissionControl(),
                .attemptTimeout(),
            ],
            [
                .admissionControl(), .rateLimit(perSecond: 5), .concurrencyLimit(),
                .attemptTimeout(),
            ],
            "AdmissionControl must stand outside of RateLimit. A call would wait in line"),
        LintCase(
            "needed-gate-missing", [.admissionControl()], [.admissionControl(), .attemptTimeout()],
            "AdmissionControl needs an attempt timeout, and the stack has none."),
        LintCase(
            "needed-gate-missing", [Replays()], [.retry(), Replays()],
            "Replays needs a retry, and the stack has none."),
        LintCase(
            "contradictory-facts",
            [Stated("Odd", .retries(attempts: 0, waits: nil, repeatsUnsafe: false))],
            [Stated("Odd", .retries(attempts: 2, waits: nil, repeatsUnsafe: false))],
            "Odd states a retry with 0 attempts"),
        LintCase(
            "contradictory-facts",
            [
                Stated(
                    "Odd", .limitsTime(.seconds(1), .body), .limitsTime(.seconds(2), .body))
            ], [Stated("Odd", .limitsTime(.seconds(1), .body), .limitsTime(.seconds(2), .head))],
            "2 different figures for its limit up to the body"),
        LintCase(
            "contradictory-facts",
            [
                Stated(
                    "Odd",
                    order: [
                        GateOrder(.inside, .retry, because: "A."),
                        .init(.outside, .retry, because: "B."),
                    ])
            ],
            [
                Stated(
                    "Odd",
                    order: [
                        GateOrder(.inside, .retry, because: "A."),
                        .init(.outside, .hedge, because: "B."),
                    ])
            ], "both outside and inside of a retry"),
    ]
}

private struct Replays: SynchronousRequestAdapter {
    func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "marks attempts",
            order: [GateOrder(.insideOfPresent, .retry, because: "There is one attempt alone.")])
    }

    func adapt(_ request: inout Request, context: Context) {}
}
