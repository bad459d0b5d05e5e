// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension Registry {
    mutating func registerObservation() {
        register(
            gate: "log",
            description: PartDescription(
                """
                Logs each pass of a request, and each retry, redirect and note; secrets are \
                hidden. Outermost it logs calls, inside `retry` it logs attempts.
                """,
                settings: [
                    "to": .init("Where the lines go: a file, or `\"stderr\"`.", default: "stderr"),
                    "level": """
                    `"error"` logs failures and statuses from 400 on, `"info"` each pass, \
                    `"debug"` also header fields.
                    """,
                    "format": "What a line looks like: for people, or a JSON object.",
                    "sampling": "The share of calls that are logged; failures always are.",
                    "body": "How many bytes of content are shown.",
                    "redactHeaders": "More header fields to hide.",
                    "redactQuery": "More query parameters to hide.",
                ],
                example: #"{"use": "log", "to": "/var/log/client.log", "format": "json"}"#)
        ) { Log(settings: $0) }
        register(
            gate: "metrics",
            description: PartDescription(
                """
                Counts and measures passes of requests, in the names of OpenTelemetry. Inside \
                `retry` it measures attempts, outermost calls.
                """,
                settings: [
                    "to": .init(
                        """
                        Where the figures are written, as Prometheus text: a file, or `"stderr"`.
                        """,
                        default: "stderr")
                ],
                example: #"{"use": "metrics", "to": "/var/lib/app/metrics.prom"}"#)
        ) { Metrics(settings: $0) }
    }
}
