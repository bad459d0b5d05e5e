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
                Stops requests to an origin that fails, and sends a few probes to find out when \
                the origin has recovered. Place the gate inside `retry`.
                """,
                settings: [
                    "failureRatio":
                        "A circuit opens if this share of the calls in the window fails.",
                    "minimum":
                        "A circuit opens only after this number of calls in the window.",
                    "window": "The period over which calls are counted.",
                    "open":
                        """
                    How long a circuit first stays open. The time doubles if a probe fails.
                    """,
                    "maxOpen": "The longest time that a circuit stays open.",
                    "probes": "The number of calls that a half-open circuit allows.",
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
            // After a reload, an open circuit stays open.
            return settings.reloadable("circuits", for: true, updating: { $0.update(to: breaker) })
            {
                breaker
            }
        }
        register(
            gate: "concurrencyLimit",
            description: PartDescription(
                """
                Limits the number of running calls. A call runs until the body of its response has \
                ended. Calls beyond the limit wait in line, critical calls first. Place the gate \
                inside `retry`.
                """,
                settings: [
                    "total": "The maximum number of running calls to all origins together.",
                    "perOrigin": "The maximum number of running calls to one origin.",
                    "queue": """
                    The maximum number of waiting calls. If so many calls wait, further calls \
                    fail, sheddable calls first.
                    """,
                    "turnHeader": .turnHeader,
                    "adaptive": """
                    Adapts the limit of each origin to the load that its server can bear, up to \
                    `perOrigin`.
                    """,
                    "adaptive.initial": "The first limit.",
                    "adaptive.min": "The lowest limit.",
                    "adaptive.decrease": "The factor by which overload lowers the limit.",
                    "adaptive.pause": "The shortest time between two decreases.",
                    "adaptive.latency": "Whether the limit also depends on latency.",
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
            // After a reload, running calls keep their permits under the new limits.
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
