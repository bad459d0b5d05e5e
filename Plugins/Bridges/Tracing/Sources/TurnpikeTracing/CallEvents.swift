// SPDX-License-Identifier: Apache-2.0

import Tracing
import TurnpikeEssentials
import TurnpikeSupport

struct CallEvents: RequestLogger {
    let spans: SpanMaker

    func facts(for request: Request?) -> GateFacts? {
        GateFacts("adds back-offs, redirects and notes of gates to the span")
    }

    func log(_ event: CallEvent) {
        switch event.kind {
        case .began, .sent, .received, .responded, .failed, .bodyEnded: return
        case .retrying, .redirecting, .note: break
        }
        // A span that is not sampled gets no events, because redaction takes time.
        guard let span = event[CallTrace.InCall.self]?.span, span.isRecording,
            let (name, attributes) = content(of: event)
        else { return }
        span.addEvent(SpanEvent(name: name, attributes: attributes))
    }

    private func content(of event: CallEvent) -> (String, SpanAttributes)? {
        var attributes = SpanAttributes()
        switch event.kind {
        case .retrying(let delay, let attempt):
            attributes["turnpike.delay"] = delay / .seconds(1)
            attributes["turnpike.attempt"] = attempt
            attributes["http.response.status_code"] = event.status.map { $0.code }
            attributes["error.type"] =
                (event.errorType ?? event.status.flatMap(SpanMaker.errorType(of:)))
            return ("turnpike.back_off", attributes)
        case .redirecting:
            attributes["http.response.status_code"] = event.status.map { $0.code }
            attributes["url.full"] =
                event.request(redaction: spans.redaction).map { $0.url }
            return ("turnpike.redirect", attributes)
        case .note(let gate, let message):
            attributes["turnpike.gate"] = gate
            let shown = event.shown(message, redaction: spans.redaction)
            attributes["turnpike.message"] = spans.text(shown)
            return ("turnpike.note", attributes)
        case .began, .sent, .received, .responded, .failed, .bodyEnded: return nil
        }
    }
}
