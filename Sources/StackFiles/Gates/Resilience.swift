// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeMiddleware

extension Registry {
    mutating func registerResilience() {
        register(
            gate: "circuitBreaker",
            description: PartDescription(
                """
                Stops sending to an origin that fails, and sends a few probes to find out when it \
                has recovered. Place it inside `retry`.
                """,
                settings: [
                    "failureRatio":
                        "The share of the calls in the window that must fail to open a circuit.",
                    "minimum":
                        "The calls that must have ended in the window before a circuit may open.",
                    "window": "The time over which calls are counted.",
                    "open":
                        """
                    How long a circuit stays open at first; the time doubles if a probe fails.
                    """,
                    "maxOpen": "How long a circuit stays open at most.",
                    "probes": "How many calls a half-open circuit lets through.",
                    "metrics": .metrics,
                ],
                example:
                    #"{"use": "circuitBreaker", "failureRatio": 0.5, "minimum": 20, "open": 15}"#)
        ) { settings in
            let breaker = CircuitBreaker(
                failureRatio: settings.double("failureRatio", default: 0.5, in: 0.01...1),
                minimum: settings.int("minimum", default: 20, in: 1...1_000_000),
                window: settings.seconds("window", default: .seconds(30)),
                open: settings.seconds("open", default: .seconds(15)),
                maxOpen: settings.seconds("maxOpen", default: .seconds(120)),
                probes: settings.int("probes", default: 3, in: 1...10_000),
                meter: settings.meter())
            // An open circuit stays open, whatever the rules are now.
            return settings.kept("circuits", for: true, updating: { $0.update(to: breaker) }) {
                breaker
            }
        }
        register(
            gate: "fallback",
            description: PartDescription(
                """
                Returns a substitute response when a call fails, or is answered with a status from \
                500 on. Place it outside the gates whose failures it covers.
                """,
                settings: [
                    "status": "The status.",
                    "headers": "The header fields.",
                    "text": "The content, as text.",
                    "base64": "The content, in Base64, in place of `text`.",
                ],
                example: #"""
                    {"use": "fallback", "headers": [["Content-Type", "application/json"]], "text": "[]"}
                    """#)
        ) { Fallback(settings: $0) }
    }
}

extension Fallback {
    init(settings: Settings) {
        let text = settings.string("text")
        let status = settings.int("status", default: 200, in: 200...599)
        var content = Data((text ?? "").utf8)
        if let base64 = settings.string("base64") {
            if let data = Data(base64Encoded: base64), text == nil {
                content = data
            } else {
                settings.issue(
                    at: "base64",
                    text == nil ? "is not valid Base64" : "cannot be combined with \"text\"")
            }
        }
        self.init(status: HTTPStatus(status), headers: settings.headers("headers"), body: content)
    }
}
