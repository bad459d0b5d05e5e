// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware
public import TurnpikeStackFiles
import TurnpikeSupport
import TurnpikeTraffic

extension Registry {
    /// Registers the gates of `TurnpikeTraffic`: `admissionControl`, `chaos`, `circuitBreaker`,
    /// `concurrencyLimit`, `hedge`, `propagateDeadline` and `rateLimit`.
    public mutating func registerTraffic() {
        registerLoadLimits()
        registerRateLimit()
        register(
            gate: "admissionControl",
            description: PartDescription(
                """
                Refuses a share of the calls to an origin that rejects most calls, so that the \
                origin can serve the others. Place the gate inside `retry`, outside of \
                `circuitBreaker` and `attemptTimeout`.
                """,
                settings: [
                    "threshold":
                        "The share of rejected attempts beyond which the gate refuses calls.",
                    "recovery":
                        "The time in which the share of admitted calls grows to all calls.",
                    "slowness": """
                    While calls are refused, an attempt counts as rejected if its head comes later \
                    than this multiple of the usual wait. With null, waits do not count.
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
            // A reload keeps the shares, because an overloaded origin remains overloaded.
            return settings.switched(
                settings.reloadable("shares", for: true, updating: { $0.update(to: control) }) {
                    control
                })
        }
        register(
            gate: "chaos",
            description: PartDescription(
                """
                Makes faults on purpose, to see how the gates outside react. The gate is off until \
                `switch` is set. Place the gate next to the transport.
                """,
                settings: [
                    "fault": "What goes wrong.", "status": "The status.",
                    "latency": "How much later.",
                    "rate": "The share of the requests that get the fault.",
                    "seed": "With the same seed, each run chooses the same requests.",
                    "hosts": "The hosts whose requests may get the fault. By default, any host.",
                    "path": "The beginning of the paths whose requests may get the fault.",
                    "sparesUnrepeatable": "Whether to spare requests that must not be sent twice.",
                    "metrics": .metrics,
                    "switch": "The share of the calls for which the gate is on, from 0 to 1.",
                ],
                example: #"""
                    {"use": "chaos", "fault": "latency", "latency": 0.5, "rate": 0.05, "switch": 1}
                    """#)
        ) { Chaos(settings: $0) }
        register(
            gate: "hedge",
            description: PartDescription(
                """
                Sends a request with a safe method a second time if the response is late, and \
                takes the first good response. Place the gate inside `retry`.
                """,
                settings: [
                    "after": """
                    The wait before each further attempt. Without `after`, the wait is the \
                    `percentile` of the latest waits for a head, and at least `atLeast`.
                    """,
                    "percentile":
                        "Without `after`: the gate waits longer than this share of latest waits.",
                    "atLeast": "The shortest wait, if there is no `after`.",
                    "attempts": "The maximum number of attempts, including the first.",
                    "budget": .budget, "metrics": .metrics, "switch": .control,
                ],
                example: #"{"use": "hedge", "after": 0.2}"#)
        ) { $0.switched(Hedge(settings: $0)) }
        register(
            gate: "propagateDeadline",
            description: PartDescription(
                """
                Sends the time until the deadline in a header field to the next server. \
                Place the gate inside `retry`.
                """,
                settings: [
                    "header": .init("The field.", default: "grpc-timeout"),
                    "form": "The form of the value: as in gRPC, with a unit, or a whole number.",
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
    }
}

private enum DeadlineForm: String, CaseIterable {
    case grpc, milliseconds, seconds
}

extension Hedge {
    init(settings: Settings) {
        let part = settings.double("percentile", default: 0.95, in: 0.01...0.9999)
        let atLeast = settings.seconds("atLeast", default: .milliseconds(50), orZero: true)
        let fixed = settings.optionalSeconds("after", orZero: true)
        let delay = fixed.map { HedgeDelay.fixed($0) } ?? .percentile(part, atLeast: atLeast)
        self.init(
            after: delay,
            attempts: settings.int("attempts", default: 2, in: 1...12),
            budget: settings.retryBudget(),
            latencies: settings.reloadable("latencies", for: true) { Latencies() })
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
