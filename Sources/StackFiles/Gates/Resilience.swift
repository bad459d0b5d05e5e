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
            // An open circuit stays open under the new rules.
            return settings.reloadable("circuits", for: true, updating: { $0.update(to: breaker) })
            {
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
            gate: "propagateDeadline",
            description: PartDescription(
                """
                Tells the next server in a header field how much time is left until the deadline. \
                Place it inside `retry`.
                """,
                settings: [
                    "header": .init("The field.", default: "grpc-timeout"),
                    "form": "What its value is: gRPC's form, with a unit, or a whole number.",
                ],
                example: #"""
                    {"use": "propagateDeadline", "header": "X-Timeout-Ms", "form": "milliseconds"}
                    """#)
        ) { settings in
            let name = settings.headerName("header", default: "grpc-timeout")
            switch settings.choice("form", default: DeadlineForm.grpc) {
            case .grpc: return PropagateDeadline(in: .grpc(name))
            case .milliseconds: return PropagateDeadline(in: .milliseconds(name))
            case .seconds: return PropagateDeadline(in: .seconds(name))
            }
        }
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

private enum DeadlineForm: String, CaseIterable {
    case grpc, milliseconds, seconds
}

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
            // Calls under way keep their permits under the new limits.
            return settings.reloadable("permits", for: true, updating: { $0.update(to: limit) }) {
                limit
            }
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
                    "metrics": .metrics, "switch": .control,
                ],
                example: #"{"use": "admissionControl", "recovery": 15, "id": "admission"}"#)
        ) { settings in
            let control = AdmissionControl(
                threshold: settings.double("threshold", default: 0.7, in: 0...0.99),
                recovery: settings.seconds("recovery", default: .seconds(15)),
                slowness: settings.isNull("slowness")
                    ? nil : settings.double("slowness", default: 4, in: 1...1_000_000),
                meter: settings.meter())
            // An origin that rejects calls still rejects them under the new rules.
            return settings.switched(
                settings.reloadable("shares", for: true, updating: { $0.update(to: control) }) {
                    control
                })
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

extension Registry {
    mutating func registerChaos() {
        register(
            gate: "chaos",
            description: PartDescription(
                """
                Makes faults on purpose, to see what the gates outside make of them; off until \
                `switch` is set. Place it next to the transport.
                """,
                settings: [
                    "fault": "What goes wrong.", "status": "The status.",
                    "latency": "How much later.",
                    "rate": "The share of the requests that the fault happens to.",
                    "seed": "Chooses the same requests each time.",
                    "hosts": "The hosts of the requests that may have it. Without them, any.",
                    "path": "The beginning of their paths.",
                    "sparesUnrepeatable": "Whether it spares requests that must not be sent twice.",
                    "metrics": .metrics,
                    "switch": "The share of the calls that it is on for: 1 is on, 0 is off.",
                ],
                example: #"""
                    {"use": "chaos", "fault": "latency", "latency": 0.5, "rate": 0.05, "switch": 1}
                    """#)
        ) { Chaos(settings: $0) }
    }
}

private enum FaultName: String, CaseIterable {
    case error, status, latency, droppedBody
}

extension Chaos {
    fileprivate init(settings: Settings) {
        let status = HTTPStatus(settings.int("status", default: 503, in: 200...599))
        let latency = settings.seconds("latency", default: .seconds(1))
        let hosts = settings.optionalStrings("hosts").map { Set($0.map { $0.lowercased() }) }
        let path = settings.string("path") ?? ""
        let fault: Fault =
            switch settings.requiredChoice("fault", of: FaultName.self) ?? .error {
            case .error: .error(.connection)
            case .status: .status(status)
            case .latency: .latency(latency)
            case .droppedBody: .droppedBody
            }
        self.init(
            fault, rate: settings.double("rate", default: 1, in: 0...1),
            seed: settings.optionalInt("seed", in: 0...Int.max).map { UInt64($0) },
            switch: settings.control(settings.double("switch", default: 0, in: 0...1)),
            sparesUnrepeatable: settings.bool("sparesUnrepeatable", default: true),
            meter: settings.meter()
        ) { request in
            (hosts.map { $0.contains(request.origin?.host ?? "") } ?? true)
                && request.url.path().hasPrefix(path)
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
