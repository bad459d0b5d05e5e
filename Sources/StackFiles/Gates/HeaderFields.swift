// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware

extension Registry {
    mutating func registerHeaderFields() {
        register(
            gate: "setHeaders",
            description: PartDescription(
                "Sets and adds header fields on each request.",
                settings: [
                    "set": "Fields that replace the fields of the same names.",
                    "add": "Fields that are added after the fields of the same names.",
                    "origins": .secretOrigins,
                ],
                example: #"{"use": "setHeaders", "set": [["X-Tenant", "blue"]]}"#)
        ) { settings in
            SetHeaders(
                settings.headers("set"), adding: settings.headers("add"),
                origins: settings.secretOrigins())
        }
        register(gate: "headers", sameAs: "setHeaders")
        register(
            gate: "defaultHeaders",
            description: PartDescription(
                "Sets default header fields on requests that do not have these fields.",
                settings: [
                    "set": "The fields.",
                    "languages": """
                    The languages of `Accept-Language`, most preferred first. Only the first six \
                    languages count.
                    """,
                    "origins": .secretOrigins,
                ],
                example: #"""
                    {"use": "defaultHeaders", "set": [["X-Client", "shop"]], "languages": ["de-AT", "en"]}
                    """#)
        ) { settings in
            let languages = settings.strings("languages")
            for (index, language) in languages.enumerated()
            where language.wholeMatch(of: /\*|[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8})*/) == nil {
                settings.issue(
                    at: "languages[\(index)]", "expected a language range such as en or de-AT")
            }
            return DefaultHeaders(
                settings.headers("set"), languages: languages, origins: settings.secretOrigins())
        }
        register(
            gate: "userAgent",
            description: PartDescription(
                "Sets `User-Agent` on requests without this field.",
                settings: ["value": "The value. By default, the value describes the program."],
                example: #"{"use": "userAgent", "value": "shop/2.1"}"#)
        ) { settings in
            let value = settings.string("value")
            if let defect = value.flatMap({ Settings.defect(.userAgent, $0) }) {
                settings.issue(at: "value", defect)
            }
            return UserAgent(value)
        }
        register(
            gate: "requestID",
            description: PartDescription(
                """
                Adds an ID to each call, a random UUID, which can also appear in the server's log.
                """,
                settings: [
                    "header": .init(
                        "The header field that carries the ID.", default: "X-Request-ID")
                ],
                example: #"{"use": "requestID", "header": "X-Correlation-ID"}"#)
        ) { RequestID(header: $0.headerName("header", default: "X-Request-ID")) }
        register(
            gate: "idempotencyKey",
            description: PartDescription(
                """
                Adds a key to POST and PATCH requests, so that a server recognizes a repetition, \
                and `retry` may send them again. Use the gate only with servers that support the \
                key. Place the gate outside `retry`.
                """,
                settings: [
                    "header": .init(
                        "The header field that carries the key.", default: "Idempotency-Key")
                ],
                example: #"{"use": "idempotencyKey"}"#)
        ) { IdempotencyKey(header: $0.headerName("header", default: .idempotencyKey)) }
        register(
            gate: "traceContext",
            description: PartDescription(
                """
                Propagates the trace context of a request to servers (W3C Trace Context). Place \
                the gate inside `retry`, because each attempt must be a separate span.
                """,
                settings: ["sampling": "The share of new traces that are marked as sampled."],
                example: #"{"use": "traceContext", "sampling": 0.01}"#)
        ) { TraceContext(sampling: $0.double("sampling", default: 1, in: 0...1)) }
        register(
            gate: "compressBodies",
            description: PartDescription(
                """
                Compresses request bodies. Use the gate only with servers that are known to accept \
                compressed requests. Place the gate inside `retry`.
                """,
                settings: [
                    "coding": "The content coding.",
                    "level": "The compression level, from 1 (fastest) to 9 (smallest).",
                    "minimum": "The smallest body that is compressed, in bytes.",
                ],
                example: #"{"use": "compressBodies", "coding": "gzip", "minimum": 4096}"#)
        ) { settings in
            CompressBodies(
                settings.choice("coding", default: .gzip),
                level: settings.int("level", default: 6, in: 1...9),
                minimum: Int64(settings.int("minimum", default: 1024, in: 0...Int.max)))
        }
    }
}

extension Registry {
    mutating func registerObservation() {
        register(
            gate: "log",
            description: PartDescription(
                """
                Logs each request that passes through the gate, and each retry, redirect and \
                message of a gate inside. Secrets are hidden. If the gate is outermost, the gate \
                logs calls. Inside `retry`, the gate logs attempts.
                """,
                settings: [
                    "to": .init("Where the lines go: a file, or `\"stderr\"`.", default: "stderr"),
                    "level": """
                    `"error"` logs failures and statuses from 400 on, `"info"` logs each request, \
                    and `"debug"` also logs header fields.
                    """,
                    "format": "The format of a line: text for people, or a JSON object.",
                    "sampling": "The share of calls that are logged. Failures are always logged.",
                    "body": "The maximum number of bytes of content in a line.",
                    "redactHeaders": "Additional header fields to hide.",
                    "redactQuery": "Additional query parameters to hide.",
                ],
                example: #"{"use": "log", "to": "/var/log/client.log", "format": "json"}"#)
        ) { Log(settings: $0) }
        register(
            gate: "metrics",
            description: PartDescription(
                """
                Measures each request that passes through the gate. The metrics have the names of \
                OpenTelemetry. Inside `retry`, the gate measures attempts. If the gate is \
                outermost, it measures calls.
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
                sink = try settings.reloadable("sink", for: path) {
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
