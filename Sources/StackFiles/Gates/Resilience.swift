// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeMiddleware

extension Registry {
    mutating func registerResilience() {
        register(
            gate: "fallback",
            description: PartDescription(
                """
                Returns a substitute response if a call fails or gets a status of 500 or above. \
                Place the gate outside the gates whose failures the gate replaces.
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

extension Registry {
    mutating func registerTimeLimits() {
        register(
            gate: "deadline",
            description: PartDescription(
                """
                Ends a call that takes longer than a limit. The limit covers queues, attempts, \
                waits, redirects and the body together. Place the gate outermost.
                """,
                settings: ["seconds": "The longest time of a call."],
                example: #"{"use": "deadline", "seconds": 30}"#)
        ) { Deadline($0.seconds("seconds", default: .seconds(30))) }
        register(
            gate: "attemptTimeout",
            description: PartDescription(
                """
                Ends an attempt if the head of its response does not arrive within a limit. Place \
                the gate inside `retry`.
                """,
                settings: ["seconds": "The longest time until the head of a response arrives."],
                example: #"{"use": "attemptTimeout", "seconds": 10}"#)
        ) { AttemptTimeout($0.seconds("seconds", default: .seconds(10))) }
        register(
            gate: "idleTimeout",
            description: PartDescription(
                "Ends a transfer whose body stalls, or arrives too slowly.",
                settings: [
                    "seconds": "The longest wait for a part of the body.",
                    "minBytesPerSecond": """
                    The lowest average rate over `window`. 0 allows any rate.
                    """,
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
