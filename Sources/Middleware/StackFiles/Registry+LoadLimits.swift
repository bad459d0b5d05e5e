// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension Registry {
    mutating func registerLoadLimits() {
        register(
            gate: "rateLimit",
            description: PartDescription(
                """
                Limits the number of requests per second, or by several rules; more calls wait in \
                line. With `shared` it is one limit for all replicas.
                """,
                settings: [
                    "perSecond":
                        "The average number of requests per second. Without it, `rules` are needed.",
                    "burst": .init(
                        "How many requests may go at once after a pause.", default: 1),
                    "rules": "More limits. All must have room for a request.",
                    "rules.permits": .init("How many requests come in a period.", isRequired: true),
                    "rules.per": "The period.",
                    "rules.burst": "How many requests may go at once after a pause.",
                    "shared": .shared,
                    "key": """
                    Names the quota in the shared state, no secret: limits with the same name, rules \
                    and origin draw on one quota. Without a name, a limit shares with the same limit \
                    of other replicas, but never with another one of its stack.
                    """,
                    "cooldowns": .cooldowns, "keyHeader": .keyHeader,
                    "costHeader": """
                    The field of the request that says how many permits it takes; without the field, \
                    it takes one.
                    """,
                    "actualCostHeader": """
                    The field of the response that says how many permits the call cost in all; the \
                    difference is charged or given back.
                    """,
                    "readsQuotaFields": """
                    Whether what is left is lowered to what `RateLimit` or `X-RateLimit-Remaining` of \
                    a response says.
                    """,
                    "queue": "How many calls may wait, over all origins.",
                    "scope": "Whether the limit is one for each origin, or one for all.",
                    "metrics": .metrics,
                ],
                example: #"""
                    {"use": "rateLimit", "perSecond": 100, "burst": 10, "shared": true,
                     "rules": [{"permits": 500000, "per": 86400, "burst": 20000}]}
                    """#)
        ) { RateLimit(settings: $0) }
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
        ) { ConcurrencyLimit(settings: $0) }
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
        ) { AdmissionControl(settings: $0) }
        register(
            gate: "coalesce",
            description: PartDescription(
                """
                Sends identical requests with a safe method once while the first is under way, and \
                returns the response to all callers.
                """,
                settings: ["maxBody": "The most bytes of content that callers share."],
                example: #"{"use": "coalesce", "maxBody": 1048576}"#)
        ) { Coalesce(settings: $0) }
    }
}
