// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension Registry {
    mutating func registerResilience() {
        register(
            gate: "retry",
            description: PartDescription(
                """
                Sends a request again after a temporary failure, if it may be sent twice. A wait \
                is never shorter than `Retry-After`.
                """,
                settings: [
                    "attempts": "How many attempts a call makes in all.",
                    "base": """
                    The bound of the first wait; it doubles with each attempt. Without it, 0.05, \
                    or 1 after a 429 or 503.
                    """,
                    "max": "The highest bound of a wait.",
                    "jitter": """
                    How a wait is randomized: `"full"` takes a random part of the bound, \
                    `"decorrelated"` lets a wait grow with those before it, and `"none"` takes the \
                    bound.
                    """,
                    "maxRetryAfter": """
                    The longest `Retry-After` that is honoured; a longer one ends the retries.
                    """,
                    "budget": .budget,
                    "statuses": .init(
                        "The statuses that are retried.", type: .list(of: .integer(100...599)),
                        default: [408, 425, 429, 500, 502, 503, 504]),
                    "methods": """
                    The methods that may be sent twice. Without it, the idempotent ones and QUERY.
                    """,
                    "maxKeptBytes": """
                    The most bytes of a successful response that are held until its content is \
                    complete, so that a body that breaks off is retried; with 0, none are.
                    """,
                    "shared": .shared, "cooldowns": .cooldowns, "keyHeader": .keyHeader,
                    "metrics": .metrics,
                ],
                example: #"{"use": "retry", "attempts": 3, "statuses": [429, 503], "id": "retry"}"#)
        ) { Retry(settings: $0) }
        register(
            gate: "hedge",
            description: PartDescription(
                """
                Sends a request with a safe method a second time if the response is late, and \
                takes the first good response. Place it inside `retry`.
                """,
                settings: [
                    "after": """
                    The wait before each further attempt. Without it, the `percentile` of the \
                    latest waits for a head, and at least `atLeast`.
                    """,
                    "percentile":
                        "Without `after`: the share of the latest calls that took no longer.",
                    "atLeast": "The shortest wait, if there is no `after`.",
                    "attempts": "How many attempts there are, the first included.",
                    "budget": .budget, "metrics": .metrics,
                ],
                example: #"{"use": "hedge", "after": 0.2}"#)
        ) { Hedge(settings: $0) }
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
        ) { CircuitBreaker(settings: $0) }
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
