// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeTraffic

/// An admission rule that the study runs in place of the gate: inside the retry, which has a
/// budget.
struct Contender: Sendable {
    /// The name of the rule in the table.
    let name: String
    /// Creates the gate of the rule, with its own state.
    let gate: @Sendable () -> any Gate

    init(_ name: String, _ gate: @escaping @Sendable () -> any Gate) {
        self.name = name
        self.gate = gate
    }

    /// The published rules, and the gates of this library.
    static let all: [Contender] = [
        Contender("requests per accepts, K = 2, 120 s") {
            Throttle(RequestsPerAccepts(multiple: 2, seconds: 120))
        },
        Contender("requests per accepts, K = 1.1, 120 s") {
            Throttle(RequestsPerAccepts(multiple: 1.1, seconds: 120))
        },
        Contender("requests per accepts, K = 2, 10 s") {
            Throttle(RequestsPerAccepts(multiple: 2, seconds: 10))
        },
        Contender("requests per accepts, K = 1.5, 10 s") {
            Throttle(RequestsPerAccepts(multiple: 1.5, seconds: 10))
        },
        Contender("requests per accepts, K = 1.1, 10 s") {
            Throttle(RequestsPerAccepts(multiple: 1.1, seconds: 10))
        },
        Contender("success rate, aggression 1, at most 80 %") {
            Throttle(SuccessRate(aggression: 1, most: 0.8))
        },
        Contender("success rate, aggression 2, at most 98 %") {
            Throttle(SuccessRate(aggression: 2, most: 0.98))
        },
        Contender("share + 0.05/s, x 0.5") {
            Throttle(IncreaseDecrease(increase: 0.05, decrease: 0.5))
        },
        Contender("share + 0.05/s, x 0.1") {
            Throttle(IncreaseDecrease(increase: 0.05, decrease: 0.1))
        },
        Contender("Gradient2 limit") { Throttle(Gradient()) },
        Contender("Vegas limit") { Throttle(Vegas()) },
        Contender("CoDel, 100 ms in 1 s") { Throttle(ControlledDelay()) },
        Contender("ConcurrencyLimit, adaptive") {
            ConcurrencyLimit(perOrigin: 64, queue: 0, adaptive: AdaptiveLimit())
        },
        Contender("AdmissionControl, then that limit") {
            Group([
                AdmissionControl(),
                ConcurrencyLimit(perOrigin: 64, queue: 0, adaptive: AdaptiveLimit()),
            ])
        },
        Contender("AdmissionControl without waits") { AdmissionControl(slowness: nil) },
        Contender("AdmissionControl") { AdmissionControl() },
    ]
}

extension Double {
    /// The number raised to a power.
    func power(_ exponent: Double) -> Double { pow(self, exponent) }

    var logarithm10: Double { log10(self) }
}
