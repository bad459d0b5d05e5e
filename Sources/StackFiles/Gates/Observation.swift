// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware

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
        ) { settings in
            let output = settings.metricsOutput("to", default: "stderr")
            let hold = MetricsHold(output)
            return Metrics(output.store) { _ in await hold.flush() }
        }
    }
}

extension Log {
    init(settings: Settings) {
        let level = settings.choice("level", default: Level.info)
        let redaction = Redaction.standard.adding(
            headers: settings.headerNames("redactHeaders").map(\.rawValue),
            query: settings.strings("redactQuery"))
        let path = settings.string("to") ?? "stderr"
        var sink: any LogSink = .standardError
        if path != "stderr", !settings.isDryRun {
            do {
                let faults = settings.common("outputFaults") { OutputFaults() }
                sink = try settings.kept("sink", for: path) {
                    try LineSink(appendingTo: path) { faults.record(path, $0) }
                }
            } catch {
                settings.issue(at: "to", "the file cannot be opened for writing")
            }
        }
        self.init(
            to: sink, level: level, format: settings.choice("format", default: .text),
            sampling: settings.double("sampling", default: 1, in: 0...1), redaction: redaction,
            peekBytes: settings.int("body", default: 0, in: 0...4096))
    }
}
