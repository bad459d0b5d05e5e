// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport

extension [Trace] {
    /// Returns the traces as an `ExportTraceServiceRequest` of OpenTelemetry in JSON, which
    /// collectors read at `/v1/traces` and from files (OTLP 1, JSON Protobuf Encoding).
    ///
    /// An exchange is a span of kind `CLIENT` with the attributes of the semantic conventions for
    /// HTTP. All other spans are `INTERNAL`. If the requests of a call have a `traceparent`, the
    /// spans belong to the trace in this field. In this case, an exchange gets the identifier in
    /// the field, and the spans of servers are inside the exchange (W3C Trace Context). Without a
    /// `traceparent`, the identifiers are derived from the identifier of the call, and are
    /// therefore equal in each export.
    ///
    /// A span that is still running ends at the last known time of the call, and has the attribute
    /// `turnpike.under_way`.
    /// - Parameter service: The name of the program, for the resource attribute `service.name`.
    /// - Returns: The object. For the collector's file receiver, write the text as one line.
    public func otlp(service: String) -> JSONValue {
        let spans = flatMap { TraceExport($0).spans }
        let resource: JSONValue = [
            "attributes": [
                OTLP.text("service.name", service), OTLP.text("telemetry.sdk.language", "swift"),
            ]
        ]
        let scope: JSONValue = ["name": "turnpike", "version": .string(LibraryVersion.current)]
        return [
            "resourceSpans": [
                ["resource": resource, "scopeSpans": [["scope": scope, "spans": .array(spans)]]]
            ]
        ]
    }
}

private enum OTLP {
    static func text(_ key: String, _ value: String) -> JSONValue {
        ["key": .string(key), "value": ["stringValue": .string(value)]]
    }

    static func int(_ key: String, _ value: some BinaryInteger) -> JSONValue {
        ["key": .string(key), "value": ["intValue": .string("\(value)")]]
    }

    static func bool(_ key: String, _ value: Bool) -> JSONValue {
        ["key": .string(key), "value": ["boolValue": .bool(value)]]
    }
}

private struct TraceExport {
    private let trace: Trace
    private let end: Duration
    private let traceID: String
    private let identifiers: [String]
    private let outerParent: String?
    private let state: String?

    init(_ trace: Trace) {
        self.trace = trace
        end = TraceTree(trace).end
        var identifiers = trace.spans.map { Self.derived("\(trace.id)/\($0.id)", bytes: 8) }
        var carried: [String: [Int]] = [:]
        var first: TraceParent?
        for span in trace.spans {
            guard let headers = span.exchange?.requestHeaders,
                let parent = headers["traceparent"].flatMap({
                    TraceParent(parsing: $0, tracestate: headers["tracestate"])
                }), first == nil || first?.traceID == parent.traceID
            else { continue }
            first = first ?? parent
            carried[parent.spanID, default: []].append(span.id)
        }
        var outer: String?
        for (identifier, places) in carried {
            if places.count == 1 {
                identifiers[places[0]] = identifier
            } else if carried.count == 1 {
                // The call is a child of the span in the field, because the field was set before
                // the attempts.
                outer = identifier
            }
        }
        traceID = first?.traceID ?? Self.derived("\(trace.id)", bytes: 16)
        state = first?.state
        outerParent = outer
        self.identifiers = identifiers
    }

    var spans: [JSONValue] { trace.spans.map { .object(json($0)) } }

    private func json(_ span: TraceSpan) -> JSONObject {
        let until = span.start + max(span.duration ?? end - span.start, .zero)
        var object: JSONObject = [
            "traceId": .string(traceID), "spanId": .string(identifiers[span.id]),
        ]
        let parent = span.parent.map { identifiers[$0] } ?? outerParent
        object["parentSpanId"] = parent.map(JSONValue.string)
        object["traceState"] = state.map(JSONValue.string)
        // Span names must have few different values, and there are too many different paths.
        object["name"] = .string(span.exchange?.method.rawValue ?? callName(span))
        // The values are SPAN_KIND_CLIENT and SPAN_KIND_INTERNAL.
        object["kind"] = span.exchange == nil ? 1 : 3
        object["startTimeUnixNano"] = nanoseconds(span.start)
        object["endTimeUnixNano"] = nanoseconds(until)
        object["attributes"] = .array(attributes(of: span))
        if case .failed(_, let description)? = span.outcome {
            // The value is STATUS_CODE_ERROR.
            object["status"] = ["code": 2, "message": .string(description)]
        } else if span.isBad {
            object["status"] = ["code": 2]
        }
        return object
    }

    private func callName(_ span: TraceSpan) -> String {
        guard span.kind == .call else { return span.name }
        return String(span.name.prefix { $0 != " " })
    }

    private func attributes(of span: TraceSpan) -> [JSONValue] {
        var list = [OTLP.text("turnpike.kind", span.kindName)]
        if span.kind == .call {
            list.append(OTLP.text("turnpike.call", "\(trace.id)"))
            if trace.omitted > 0 { list.append(OTLP.int("turnpike.omitted", trace.omitted)) }
        }
        if span.duration == nil { list.append(OTLP.bool("turnpike.under_way", true)) }
        switch span.outcome {
        case .failed(let label, _): list.append(OTLP.text("error.type", label))
        case .returned(let status?) where status.code >= 400:
            list.append(OTLP.text("error.type", "\(status.code)"))
        case .cancelled: list.append(OTLP.bool("turnpike.cancelled", true))
        case .returned, .dropped, nil: break
        }
        if let exchange = span.exchange { list += attributes(of: exchange, span) }
        return list
    }

    // The attributes follow
    // https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client
    private func attributes(of exchange: TraceExchange, _ span: TraceSpan) -> [JSONValue] {
        var list = [
            OTLP.text("http.request.method", exchange.method.rawValue),
            OTLP.text("url.full", exchange.url),
        ]
        if let origin = URL(string: exchange.url).flatMap({ Origin($0) }) {
            list.append(OTLP.text("server.address", origin.host))
            list.append(OTLP.int("server.port", origin.port))
        }
        if let status = exchange.status {
            list.append(OTLP.int("http.response.status_code", status.code))
        }
        if let attempt = trace.attempt(around: span), attempt > 1 {
            list.append(OTLP.int("http.request.resend_count", attempt - 1))
        }
        if let version = exchange.protocolVersion {
            list.append(OTLP.text("network.protocol.version", version))
        }
        if let address = exchange.peerAddress {
            let peer = TracePeer(address)
            list.append(OTLP.text("network.peer.address", peer.host))
            if let port = peer.port { list.append(OTLP.int("network.peer.port", port)) }
        }
        if let size = exchange.requestBodyBytes {
            list.append(OTLP.int("http.request.body.size", size))
        }
        let received = exchange.encodedBodyBytes ?? exchange.bytesReceived
        list.append(OTLP.int("http.response.body.size", received))
        return list
    }

    private func nanoseconds(_ offset: Duration) -> JSONValue {
        // For a date of this century, a `Double` is exact to a quarter of a microsecond.
        let micros = max((trace.date.timeIntervalSince1970 * 1e6).rounded(), 0)
        // The result is nil if the date is not a number.
        let date = Int64(exactly: min(micros, 9e15)) ?? 0
        let (sum, isTooLarge) = (date * 1000).addingReportingOverflow(
            max(offset, .zero).wholeNanoseconds)
        return .string("\(isTooLarge ? Int64.max : sum)")
    }

    // MARK: Identifiers

    // An identifier of zeros is invalid, but in practice a digest is never all zeros.
    private static func derived(_ text: String, bytes: Int) -> String {
        SHA256.digest(of: Data("turnpike \(text)".utf8)).prefix(bytes).hexadecimal
    }
}
