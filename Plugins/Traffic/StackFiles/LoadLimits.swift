// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeStackFiles
import TurnpikeTraffic

extension Registry {
    mutating func registerLoadLimits() {
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
            // An open circuit stays open under the new rules.
            return settings.reloadable("circuits", for: true, updating: { $0.update(to: breaker) })
            {
                breaker
            }
        }
        register(
            gate: "concurrencyLimit",
            description: PartDescription(
                """
                Limits how many calls are under way at once, each until the body of its response \
                has ended; more calls wait in line, critical ones first. Place it inside `retry`.
                """,
                settings: [
                    "total": "The most calls under way to all origins together.",
                    "perOrigin": "The most calls under way to one origin.",
                    "queue": "How many calls may wait; more fail at once, sheddable ones first.",
                    "turnHeader": .turnHeader,
                    "adaptive": """
                    Adapts the limit of each origin to what its server can bear, up to `perOrigin`.
                    """,
                    "adaptive.initial": "The first limit.",
                    "adaptive.min": "The lowest limit.",
                    "adaptive.decrease": "The factor that overload lowers the limit by.",
                    "adaptive.pause": "The time after a decrease without another one.",
                    "adaptive.latency": "Whether latency sets the limit, too.",
                    "metrics": .metrics,
                ],
                example: #"{"use": "concurrencyLimit", "perOrigin": 32, "adaptive": {"min": 8}}"#)
        ) { settings in
            let limit = ConcurrencyLimit(
                total: settings.int("total", default: 256, in: 1...1_000_000),
                perOrigin: settings.int("perOrigin", default: 64, in: 1...1_000_000),
                queue: settings.int("queue", default: 1000, in: 0...1_000_000),
                adaptive: settings.object("adaptive").map { AdaptiveLimit(settings: $0) },
                meter: settings.meter())
            // Calls under way hold permits, whatever the limits are now.
            let kept = settings.reloadable(
                "permits", for: true, updating: { $0.update(to: limit) }
            ) { limit }
            guard let field = settings.headerName("turnHeader") else { return kept }
            return kept.takingTurns { $0.headers[field] }
        }
    }
}

extension AdaptiveLimit {
    fileprivate init(settings: Settings) {
        let standard = AdaptiveLimit()
        self.init(
            initial: settings.int("initial", default: 20, in: 1...1_000_000),
            min: settings.int("min", default: standard.min, in: 1...1_000_000),
            decrease: settings.double("decrease", default: standard.decrease, in: 0...0.99),
            pause: settings.seconds("pause", default: standard.pause, orZero: true))
        followsLatency = settings.bool("latency", default: false)
        settings.finish()
    }
}
