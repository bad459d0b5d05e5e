// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Makes a trace from recorded data, without secrets, with the phases of exchanges, and with each
/// span within its parent.
struct TraceBuilder {
    static let maxSpans = 224

    private struct Part {
        let parent: Int
        let kind: TraceSpan.Kind
        let name: String
        let start: MonotonicInstant
        var end: MonotonicInstant?
        var outcome: TraceSpan.Outcome?
        var exchange: TraceExchange?
        // Spans with the same start are sorted by this order.
        var order: (Int, Int)
    }

    private let raw: RecordedTrace
    private let isComplete: Bool
    private let texts: TraceTexts
    private let begin: MonotonicInstant

    init(_ raw: RecordedTrace, redaction: Redaction, isComplete: Bool) {
        self.raw = raw
        self.isComplete = isComplete
        texts = TraceTexts(raw, redaction)
        begin = raw.spans[0].start
    }

    func trace() -> Trace {
        var parts = raw.spans.indices.map(part)
        widen(&parts)
        var omitted = raw.omitted
        for (index, span) in raw.spans.enumerated() {
            guard case .exchange(let exchange) = span.kind else { continue }
            let phases = ReportedPhases(raw.exchanges[exchange], of: span).phases
            for (place, phase) in phases.enumerated() {
                if parts.count >= Self.maxSpans {
                    omitted += 1
                    continue
                }
                parts.append(
                    Part(
                        parent: index, kind: phase.kind, name: phase.name, start: phase.start,
                        end: phase.end, outcome: phase.outcome.map { texts.outcome($0) },
                        order: (index, place + 1)))
            }
        }
        return Trace(
            id: raw.id, date: raw.date, spans: spans(of: parts), omitted: omitted,
            isComplete: isComplete)
    }

    private func part(_ index: Int) -> Part {
        let span = raw.spans[index]
        let (kind, name): (TraceSpan.Kind, String) =
            switch span.kind {
            case .call(let request): (.call, texts.name(of: request))
            case .gate(let pass):
                (.gate, texts.name(pass.gateName + (span.detail.map { ": " + $0 } ?? "")))
            case .attempt(let number): (.attempt(number), "attempt \(number)")
            case .wait(let name): (.wait, texts.name(name))
            case .exchange(let exchange):
                (.exchange, texts.name(of: raw.exchanges[exchange].request))
            }
        var part = Part(
            parent: span.parent, kind: kind, name: name, start: span.start, end: span.end,
            outcome: span.outcome.map { texts.outcome($0) }, order: (index, 0))
        if case .exchange(let exchange) = span.kind {
            part.exchange = texts.exchange(raw.exchanges[exchange], since: begin)
        }
        return part
    }

    // The span of a gate ends with the body, although the gate returns earlier.
    private func widen(_ parts: inout [Part]) {
        for index in parts.indices.reversed() where parts[index].parent >= 0 {
            let parent = parts[index].parent
            guard let end = parts[index].end else {
                parts[parent].end = nil
                parts[parent].outcome = nil
                continue
            }
            if let outer = parts[parent].end { parts[parent].end = max(outer, end) }
        }
    }

    private func spans(of parts: [Part]) -> [TraceSpan] {
        let sorted = parts.enumerated().sorted { left, right in
            (left.element.start, left.element.order.0, left.element.order.1)
                < (right.element.start, right.element.order.0, right.element.order.1)
        }
        var places = Array(repeating: 0, count: parts.count)
        for (place, part) in sorted.enumerated() { places[part.offset] = place }
        return sorted.enumerated().map { place, sorted in
            let part = sorted.element
            return TraceSpan(
                id: place, parent: part.parent < 0 ? nil : places[part.parent], kind: part.kind,
                name: part.name, start: begin.duration(to: part.start),
                duration: part.end.map { part.start.duration(to: $0) }, outcome: part.outcome,
                exchange: part.exchange)
        }
    }
}

struct ReportedPhases {
    struct Phase {
        let kind: TraceSpan.Kind
        let name: String
        let start: MonotonicInstant
        let end: MonotonicInstant?
        let outcome: RecordedTrace.Outcome?
    }

    private(set) var phases: [Phase] = []
    private var cursor: MonotonicInstant
    private let limit: MonotonicInstant

    init(_ exchange: RecordedTrace.Exchange, of span: RecordedTrace.Span) {
        cursor = span.start
        limit = exchange.headAt ?? span.end ?? MonotonicInstant(nanoseconds: .max)
        let times = exchange.timeline
        if times.isConnectionReused == true {
            add("queue", until: times.connected)
        } else {
            add("DNS", until: times.resolved)
            add("connect", until: times.connected)
            add("TLS", until: times.secured)
        }
        // A server may answer while the request is still being sent.
        let sent = exchange.contentSentAt.map { min($0, times.firstByte ?? $0) }
        add("request sent", until: sent)
        add("first byte", until: times.firstByte)
        guard let headAt = exchange.headAt else { return }
        add("head", until: headAt)
        phases.append(
            Phase(
                kind: .body, name: "body", start: headAt, end: span.end, outcome: span.outcome))
    }

    // The times of a transport with another clock may be slightly out of order.
    private mutating func add(_ name: String, until instant: MonotonicInstant?) {
        guard let instant else { return }
        let end = min(max(instant, cursor), limit)
        phases.append(
            Phase(kind: .phase, name: name, start: cursor, end: end, outcome: .returned(nil)))
        cursor = end
    }
}
