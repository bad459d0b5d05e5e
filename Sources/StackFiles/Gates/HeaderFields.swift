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
                    "set": "Fields that replace those of the same names.",
                    "add": "Fields that are added after those of the same names.",
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
                "Sets header fields on each request that does not have them.",
                settings: [
                    "set": "The fields.",
                    "languages": """
                    The languages of `Accept-Language`, most preferred first; the first six count.
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
                "Sets `User-Agent` on requests that do not have it.",
                settings: ["value": "The value. Without it, a description of the program."],
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
                "Gives each call an ID, a random UUID, that can also appear in the server's log.",
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
                Gives POST and PATCH a key by which a server recognizes a repetition, so that they \
                may be retried. Only for servers that honour the key. Place it outside `retry`.
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
                Propagates the trace context of a request to servers (W3C Trace Context). Place it \
                inside `retry`, so that each attempt is a span of its own.
                """,
                settings: ["sampling": "The share of new traces that are marked as sampled."],
                example: #"{"use": "traceContext", "sampling": 0.01}"#)
        ) { TraceContext(sampling: $0.double("sampling", default: 1, in: 0...1)) }
        register(
            gate: "compressBodies",
            description: PartDescription(
                """
                Compresses request bodies. Only for servers that are known to accept them. Place \
                it inside `retry`.
                """,
                settings: [
                    "coding": "The content coding.",
                    "level": "From 1, fast, to 9, small.",
                    "minimum": "The size in bytes from which bodies are compressed.",
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
