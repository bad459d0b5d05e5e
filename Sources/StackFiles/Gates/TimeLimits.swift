// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware

extension Registry {
    mutating func registerTimeLimits() {
        register(
            gate: "deadline",
            description: PartDescription(
                """
                Ends a call that takes longer than a limit: queues, attempts, back-off, redirects \
                and body together. Place it outermost.
                """,
                settings: ["seconds": "The longest time of a call."],
                example: #"{"use": "deadline", "seconds": 30}"#)
        ) { Deadline($0.seconds("seconds", default: .seconds(30))) }
        register(
            gate: "attemptTimeout",
            description: PartDescription(
                """
                Ends an attempt if the head of its response does not arrive within a limit. Place \
                it inside `retry`.
                """,
                settings: ["seconds": "The longest time from the attempt's start to the head."],
                example: #"{"use": "attemptTimeout", "seconds": 10}"#)
        ) { AttemptTimeout($0.seconds("seconds", default: .seconds(10))) }
        register(
            gate: "idleTimeout",
            description: PartDescription(
                "Ends a transfer whose body stalls, or arrives too slowly.",
                settings: [
                    "seconds": "The longest wait for a part of the body.",
                    "minBytesPerSecond": "The lowest rate, averaged over `window`; 0 sets none.",
                    "window": "The waiting time over which the rate is averaged.",
                ],
                example: #"{"use": "idleTimeout", "seconds": 30, "minBytesPerSecond": 1000}"#)
        ) { settings in
            IdleTimeout(
                settings.seconds("seconds", default: .seconds(30)),
                minBytesPerSecond: settings.int(
                    "minBytesPerSecond", default: 0, in: 0...1_000_000_000_000),
                window: settings.seconds("window", default: .seconds(10)))
        }
    }
}
