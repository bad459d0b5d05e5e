// SPDX-License-Identifier: Apache-2.0

import Tracing
import TurnpikeEssentials
import TurnpikeSupport

struct SpanMaker: Sendable {
    /// The tracer, or nil for the current tracer of `InstrumentationSystem` in each span.
    let tracer: (any Tracer)?
    let redaction: Redaction

    /// The maximum number of bytes of a span's message.
    private static let maxText = 1000

    // MARK: The beginning

    /// Begins a span inside the span of the call, unless the task has a context.
    func begin(
        _ kind: SpanKind, for request: Request, _ template: String?, inside outer: (any Span)? = nil
    ) -> any Span {
        let method = Self.known(request.method)
        let parent = ServiceContext.current ?? outer?.context ?? .topLevel
        let span = (tracer ?? InstrumentationSystem.tracer).startSpan(
            template.map { "\(method ?? "HTTP") \($0)" } ?? method ?? "HTTP",
            context: parent, ofKind: kind)
        // A span that is not sampled needs no attributes.
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

    func inject(_ context: ServiceContext, into request: inout Request) {
        let instrument: any Instrument = tracer ?? InstrumentationSystem.instrument
        let isForeign = request.options[RedirectTrail.self]?.contains { $0 != request.origin }
        instrument.inject(
            context, into: &request.headers, using: HeaderInjector(isForeign: isForeign ?? false))
    }

    private static func known(_ method: HTTPMethod) -> String? {
        switch method {
        case .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, .query:
            method.rawValue
        default: nil
        }
    }

    // MARK: The end

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
        // The caller may have read enough of the body and dropped the rest.
        case .finished, .dropped:
            if let type = Self.errorType(of: status) {
                span.attributes["error.type"] = type
                // The span gets no description, because the status code is sufficient.
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

    static func errorType(of status: HTTPStatus) -> String? {
        status.code >= 400 ? String(status.code) : nil
    }

    func text(_ shown: String) -> String { Grammar.beginning(of: shown, upTo: Self.maxText) }
}

struct HeaderInjector: Injector {
    var isForeign = false

    /// Sets a field, and replaces a field of the caller with this name.
    ///
    /// An invalid field is omitted. Baggage may contain any text, and must not make the request
    /// fail. After a redirect to another origin, only the fields of W3C Trace Context are sent. The
    /// gate `Redirect` also keeps these fields.
    func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) {
        let name = HTTPHeaders.Name(key)
        if isForeign, name != .traceparent, name != .tracestate { return }
        let field: HTTPHeaders = [name: value]
        if field.defect == nil { headers[name] = value }
    }
}
