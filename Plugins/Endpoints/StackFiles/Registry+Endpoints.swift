// SPDX-License-Identifier: Apache-2.0

import TurnpikeEndpoints
import TurnpikeMiddleware
public import TurnpikeStackFiles

extension Registry {
    /// Adds the gate `endpoints` to the names of stack files.
    public mutating func registerEndpoints() {
        register(
            gate: "endpoints",
            description: PartDescription(
                """
                Sends the requests for one host to the endpoints that serve it, and leaves out those \
                that fail. Only connections go elsewhere: URL, `Host` and certificate keep the name. \
                Place it inside `retry` and `hedge`, next to the transport, which must be `curl`.
                """,
                settings: [
                    "for": "The host, with or without a port: `users.internal:8080`.",
                    "list": .init(
                        """
                        The endpoints, each a string such as `"10.0.0.7:8080"`, \
                        `"[2001:db8::7]:8080"` or `"unix:/run/users.sock"`, or an object. One of \
                        `list`, `file` and `dns` is needed.
                        """, type: .list(of: .either(.string, .object))),
                    "list.address": "An address or a name; with its port, if there is no `port`.",
                    "list.port": "The port.",
                    "list.weight": "The share of the load against the others'.",
                    "list.zone": "The zone that the endpoint runs in.",
                    "file": """
                    A JSON file with such a list, or with an object that has one as `endpoints`. It \
                    is read again when it changes; a file with a mistake is not used.
                    """,
                    "interval": "How often the file is looked at.",
                    "dns": "Takes the addresses of a name.",
                    "dns.name": "The name. Without it, that of `for`.",
                    "dns.port": "The port of the endpoints. Without it, that of `for`.",
                    "dns.refresh": "How long an answer is used.",
                    "dns.limit": "The longest time for a lookup.",
                    "policy": """
                    How an endpoint is chosen: the less loaded of two, the sooner to answer of two, \
                    one after the other, at random by weight, or by a key of the request.
                    """,
                    "hashHeader": """
                    With `"hash"`: the header field with the key. Without it, the key is the path.
                    """,
                    "zone": "Prefers the endpoints of a zone.",
                    "zone.name": "The zone that the client runs in.",
                    "zone.spill": """
                    The share of its endpoints that must be usable; with fewer, requests leave the \
                    zone.
                    """,
                    "subset": "Uses a part of the endpoints, for fleets of hundreds.",
                    "subset.size": "How many endpoints the client uses.",
                    "subset.clientIndex": .init(
                        """
                        The number of this client among all, from 0 on; a number, or a string that \
                        has one, such as `{"env": "POD_INDEX"}`.
                        """, type: .either(.integer(0...1_000_000_000), .string), isRequired: true),
                    "health": "When an endpoint is ejected, and for how long.",
                    "health.consecutiveFailures": """
                    The failures in a row after which an endpoint is ejected; 0 for no such rule.
                    """,
                    "health.interval": "The time over which success ratios are compared.",
                    "health.minimumRequests": """
                    The requests that an endpoint must have had in that time to be compared.
                    """,
                    "health.deviations": """
                    The standard deviations below the others' success ratio at which an endpoint is \
                    ejected.
                    """,
                    "health.ejection": "How long the first ejection lasts; it doubles.",
                    "health.maxEjection": "How long an ejection lasts at most.",
                    "health.maxEjected": """
                    The share of the endpoints that may be ejected; 0 ejects none.
                    """,
                    "health.panic": """
                    The share of endpoints that must be well; with fewer, all are used.
                    """,
                    "health.slowStart": """
                    The time in which a new or returned endpoint comes to its full share.
                    """,
                    "check": "Sends checks to the endpoints, besides the requests.",
                    "check.path": "The path of a check, which is a GET.",
                    "check.interval": "The time from one check of an endpoint to the next.",
                    "check.timeout": "How long a check may take.",
                    "check.unhealthyThreshold": """
                    How many checks in a row must fail until the endpoint is left out.
                    """,
                    "check.healthyThreshold": """
                    How many checks in a row must succeed until it is used again.
                    """,
                    "metrics": .metrics,
                ],
                example: #"""
                    {"use": "endpoints", "for": "users.internal:80",
                     "list": [{"address": "10.0.0.7", "port": 8080, "weight": 2, "zone": "a"}, "10.0.0.8:8080"],
                     "policy": "peakEWMA", "zone": {"name": "a"}, "subset": {"size": 20, "clientIndex": 3},
                     "check": {"path": "/health"}}
                    """#)
        ) { Endpoints(settings: $0) }
    }
}
