// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware

extension Registry {
    mutating func registerLoadLimits() {
        register(
            gate: "concurrencyLimit",
            description: PartDescription(
                """
                Limits how many calls are under way at once, each until the body of its response \
                has ended. Place it inside `retry`.
                """,
                settings: [
                    "total": "The most calls under way to all origins together.",
                    "perOrigin": "The most calls under way to one origin.",
                    "queue": "How many calls may wait; more fail at once.",
                    "adaptive": """
                    Adapts the limit of each origin to what its server can bear, up to `perOrigin`.
                    """,
                    "adaptive.initial": "The first limit.",
                    "adaptive.min": "The lowest limit.",
                    "adaptive.decrease": "The factor that overload lowers the limit by.",
                    "adaptive.pause": "The time after a decrease without another one.",
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
            return settings.kept("permits", for: true, updating: { $0.update(to: limit) }) { limit }
        }
        register(
            gate: "admissionControl",
            description: PartDescription(
                """
                Refuses a share of the calls to an origin that rejects most of them, so that it can \
                serve the others. Place it inside `retry`, outside of `circuitBreaker` and \
                `attemptTimeout`.
                """,
                settings: [
                    "threshold":
                        "The share of the latest attempts beyond which rejections refuse calls.",
                    "recovery":
                        "The time in which the share of calls that is admitted grows to all calls.",
                    "slowness": """
                    How many times the usual wait for a head an attempt may take while calls are \
                    refused; longer ones count as rejected. null leaves waits out of account.
                    """,
                    "metrics": .metrics,
                ],
                example: #"{"use": "admissionControl", "recovery": 15, "id": "admission"}"#)
        ) { settings in
            let control = AdmissionControl(
                threshold: settings.double("threshold", default: 0.7, in: 0...0.99),
                recovery: settings.seconds("recovery", default: .seconds(15)),
                slowness: settings.isNull("slowness")
                    ? nil : settings.double("slowness", default: 4, in: 1...1_000_000),
                meter: settings.meter())
            // An origin that rejects calls still does, whatever the rules are now.
            return settings.kept("shares", for: true, updating: { $0.update(to: control) }) {
                control
            }
        }
        register(
            gate: "coalesce",
            description: PartDescription(
                """
                Sends identical requests with a safe method once while the first is under way, and \
                returns the response to all callers.
                """,
                settings: ["maxBody": "The most bytes of content that callers share."],
                example: #"{"use": "coalesce", "maxBody": 1048576}"#)
        ) { Coalesce(maxBody: $0.int("maxBody", default: 1_048_576, in: 0...1_073_741_824)) }
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
        settings.finish()
    }
}
