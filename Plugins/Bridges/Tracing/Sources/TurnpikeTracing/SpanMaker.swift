// SPDX-License-Identifier: Apache-2.0

import Tracing
import TurnpikeEssentials
import TurnpikeSupport

/// Begins and ends spans.
///
/// Their attributes follow OpenTelemetry's semantic conventions for HTTP client spans.
struct SpanMaker: Sendable {
    /// The tracer.
    ///
    /// With nil, it is the tracer of `InstrumentationSystem` when a span begins.
    let tracer: (any Tracer)?
    let redaction: Redaction

    /// The longest message of a span in bytes.
    private static let maxText = 1000

    // MARK: The beginning

    /// Begins a span within that of the call, unless the task has a context.
    func begin(
        _ kind: SpanKind, for request: Request, _ template: String?, inside outer: (any Span)? = nil
    ) -> any Span {
        let method = Self.known(request.method)
        let parent = ServiceContext.current ?? outer?.context ?? .topLevel
        let span = (tracer ?? InstrumentationSystem.tracer).startSpan(
            template.map { "\(method ?? "HTTP") \($0)" } ?? method ?? "HTTP",
            context: parent, ofKind: kind)
        // The attributes of a span that is not sampled are not needed.
        guard span.isRecording else { return span }
        span.updateAttributes { attributes in
            attributes["http.request.method"] = method ?? "_OTHER"
            if method == nil {
                attributes["http.request.method_original"] =
                    Grammar.escaped(request.method.rawValue, upTo: Self.maxText)
            }
            if let origin = request.origin {
                attributes["server.address"] = origin.host
                attributes["server.port"] = origin.port
            }
            attributes["url.full"] = redaction.url(request.url)
            attributes["url.template"] = template
        }
        return span
    }

    /// Writes a span's context into the fields of a request.
    func inject(_ context: ServiceContext, into request: inout Request) {
        let instrument: any Instrument = tracer ?? InstrumentationSystem.instrument
        let isForeign = request.options[RedirectTrail.self]?.contains { $0 != request.origin }
        instrument.inject(
            context, into: &request.headers, using: HeaderInjector(isForeign: isForeign ?? false))
    }

    // Returns the name of a method in the conventions.
    private static func known(_ method: HTTPMethod) -> String? {
        switch method {
        case .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, .query:
            method.rawValue
        default: nil
        }
    }

    // MARK: The end

    /// Runs the rest of the chain inside a span, and ends the span with the body of the response.
    func run(
        _ request: Request, _ context: Context, _ next: Next, in service: ServiceContext,
        _ span: any Span
    ) async throws -> Response {
        @Sendable func message(_ error: any Error, _ head: ResponseHead?) -> String {
            context.shownMessage(of: error, for: request, head: head, redaction: redaction)
        }
        do {
            let response = try await ServiceContext.$current.withValue(service) {
                try await next(request)
            }
            tell(response.head, to: span)
            response.body.onEnd { [self, head = response.head] end in
                finish(span, head.status, end.reason) { message($0, head) }
            }
            return response
        } catch {
            if let head = (error as? ClientError)?.response { tell(head, to: span) }
            fail(span, error) { message($0, nil) }
            span.end()
            throw error
        }
    }

    private func tell(_ head: ResponseHead, to span: any Span) {
        guard span.isRecording else { return }
        span.updateAttributes { attributes in
            attributes["http.response.status_code"] = head.status.code
            attributes["network.protocol.version"] = head.version
        }
    }

    private func finish(
        _ span: any Span, _ status: HTTPStatus, _ reason: ResponseBodyEnd.Reason,
        _ message: (any Error) -> String
    ) {
        switch reason {
        case .failed(let error): fail(span, error, message)
        case .cancelled: fail(span, CancellationError(), message)
        // A reader may have read enough and dropped the rest.
        case .finished, .dropped:
            if let type = Self.errorType(of: status) {
                span.attributes["error.type"] = type
                // There is no description, because the status is enough.
                span.setStatus(SpanStatus(code: .error))
            }
        }
        span.end()
    }

    private func fail(
        _ span: any Span, _ error: any Error, _ message: (any Error) -> String
    ) {
        guard span.isRecording else { return }
        if ClientError.isCancellation(error) {
            // A cancellation is not a failure.
            span.attributes["error.type"] = "cancelled"
            return
        }
        let known = error as? ClientError
        span.attributes["error.type"] =
            known?.code.rawValue ?? String(describing: type(of: error))
        span.setStatus(SpanStatus(code: .error, message: text(message(error))))
    }

    /// Returns the type of error that a status means for a client, from 400 on.
    static func errorType(of status: HTTPStatus) -> String? {
        status.code >= 400 ? String(status.code) : nil
    }

    /// Returns the beginning of a text that is already redacted and escaped.
    func text(_ shown: String) -> String { Grammar.beginning(of: shown, upTo: Self.maxText) }
}

/// Writes the fields of a propagator into the header fields of a request.
struct HeaderInjector: Injector {
    /// Whether a redirect has led the request to another origin.
    var isForeign = false

    /// Sets a field, and replaces the caller's field of that name.
    ///
    /// A field that is not valid HTTP is left out, because baggage may contain anything and must
    /// not make the request fail. After a redirect to another origin, only the fields of W3C Trace
    /// Context are sent. The gate `Redirect` keeps these fields, too.
    func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) {
        let name = HTTPHeaders.Name(key)
        if isForeign, name != .traceparent, name != .tracestate { return }
        let field: HTTPHeaders = [name: value]
        if field.defect == nil { headers[name] = value }
    }
}
