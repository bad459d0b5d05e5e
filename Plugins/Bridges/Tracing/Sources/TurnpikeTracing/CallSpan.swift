// SPDX-License-Identifier: Apache-2.0

import Tracing
import TurnpikeEssentials

struct CallSpans: GateGroup {
    let gates: [any Gate]

    init(spans: SpanMaker) { gates = [CallSpan(spans: spans), CallEvents(spans: spans)] }

    func facts(for request: Request?) -> GateFacts? { GateFacts("always applies") }

    var handledOptions: [any RequestOptionKey.Type] { gates.flatMap(\.handledOptions) }
}

struct CallSpan: Interceptor, PromptlyCancellable {
    let spans: SpanMaker

    var handledOptions: [any RequestOptionKey.Type] { [URLTemplate.self] }

    func facts(for request: Request?) -> GateFacts? {
        let reason = "Each attempt would be a call of its own in the trace."
        return GateFacts(
            "begins the span of the call",
            order: [
                GateOrder(.outside, .retry, because: reason),
                GateOrder(.outside, .hedge, because: reason),
                GateOrder(.outside, .redirect, because: "Each hop would be one call in the trace."),
            ])
    }

    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        var request = request
        let template = request.options[URLTemplate.self]
        // The option is removed, because calls that differ in an option do not share an exchange.
        if template != nil { request.options[URLTemplate.self] = nil }
        if Suppression.isOn { return try await next(request) }
        // After a redirect by an outer gate, the template does not belong to the URL any more.
        let own = request.options[RedirectTrail.self] == nil ? template : nil
        let span = spans.begin(.internal, for: request, own)
        let trace = CallTrace(context.id, span: span, of: request, template: own)
        context[CallTrace.InCall.self] = trace
        var inner = span.context
        inner[CallTrace.InTask.self] = trace
        return try await spans.run(request, context, next, in: inner, span)
    }
}

/// Creates a span for each sent request, and injects the span's context into the request.
struct AttemptSpan: Interceptor, PromptlyCancellable {
    let spans: SpanMaker

    func facts(for request: Request?) -> GateFacts? {
        let reason = "All attempts of a call would be one span."
        return GateFacts(
            "begins the span of the request, and sends its context",
            .setsFields([.traceparent, .tracestate], .plain),
            order: [
                GateOrder(.inside, .retry, because: reason),
                GateOrder(.inside, .hedge, because: reason),
                GateOrder(.inside, .redirect, because: "All hops of a call would be one span."),
                GateOrder(
                    .inside, .cache, because: "A stored response would have the span of a request."),
                GateOrder(
                    .inside, .coalesce,
                    because: "Each call that shares a request would have a span of that request."),
            ])
    }

    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if Suppression.isOn { return try await next(request) }
        let trace = CallTrace.current(in: context)
        let template = trace?.template(for: request)
        let span = spans.begin(.client, for: request, template, inside: trace?.span)
        let resends = trace?.nextSend() ?? context.sendCount
        if resends > 0, span.isRecording {
            span.attributes["http.request.resend_count"] = resends
        }
        var request = request
        spans.inject(span.context, into: &request)
        return try await spans.run(request, context, next, in: span.context, span)
    }
}
