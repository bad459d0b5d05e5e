// SPDX-License-Identifier: Apache-2.0

import Tracing
import TurnpikeEssentials

/// Creates a span for each request that is sent, and injects the context of the span.
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
