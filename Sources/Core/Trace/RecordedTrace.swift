// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// The notes of a recorder about a call, before secrets are hidden.
///
/// It is bounded: beyond a number of spans, new ones are only counted.
struct RecordedTrace {
    /// How many spans are noted; phases of exchanges are added later.
    static let maxSpans = 160
    /// How many of them are exchanges.
    static let maxExchanges = 48

    /// The number of bytes of a response's header fields that are noted.
    static let maxHeadBytes = 16_384

    /// The activity that a span measures, as far as the marks know it.
    enum Kind {
        case call(Request)
        /// The gate at a position of a plan; its name is computed only when the trace is shown.
        case gate(Plan, position: Int)
        case attempt(Int)
        case wait(String)
        /// The exchange at an index.
        case exchange(Int)

        var isWait: Bool { if case .wait = self { true } else { false } }
    }

    enum Outcome {
        case returned(HTTPStatus?)
        case failed(any Error)
        case cancelled
        case dropped

        init(_ error: any Error) {
            self = error is CancellationError ? .cancelled : .failed(error)
        }

        init(_ end: ResponseBodyEnd, status: HTTPStatus?) {
            self =
                switch end.reason {
                case .finished: .returned(status)
                case .failed(let error): Outcome(error)
                case .cancelled: .cancelled
                case .dropped: .dropped
                }
        }
    }

    struct Span {
        let parent: Int
        let kind: Kind
        let start: MonotonicInstant
        var end: MonotonicInstant?
        var outcome: Outcome?
        /// Whether nothing may begin inside any more.
        var isSealed = false
        /// The note of the gate about its pass.
        var detail: String?
    }

    struct Exchange {
        let request: Request
        let requestBodyBytes: Int64?
        var head: ResponseHead?
        var headAt: MonotonicInstant?
        var encodedBodyBytes: Int64?
        // The reports of the transport.
        var timeline = Timeline()
        var contentSentAt: MonotonicInstant?
        var bytesReceived: Int64 = 0
        var chunks = ChunkBuckets()

        init(_ request: Request) {
            self.request = request.withoutLargeContent
            requestBodyBytes = request.body.length
        }

        mutating func receive(_ head: ResponseHead, encodedLength: Int64?, at now: MonotonicInstant)
        {
            self.head = head
            self.head?.headers = head.headers.prefix(upTo: RecordedTrace.maxHeadBytes)
            headAt = now
            encodedBodyBytes = encodedLength
        }
    }

    private(set) var spans: [Span]
    private(set) var exchanges: [Exchange] = []
    private(set) var omitted = 0

    init(_ request: Request, at now: MonotonicInstant) {
        spans = [Span(parent: -1, kind: .call(request.withoutLargeContent), start: now)]
    }

    /// Applies a change in place.
    mutating func apply<Result>(_ change: (inout RecordedTrace) -> Result) -> Result {
        change(&self)
    }

    /// Whether a wait inside a span gets a span of its own: not inside another wait, and not inside
    /// an exchange, whose transport may wait at any time.
    func marksWaits(in span: Int) -> Bool {
        switch spans[span].kind {
        case .wait, .exchange: false
        case .call, .gate, .attempt: true
        }
    }

    func isWait(_ span: Int) -> Bool { spans[span].kind.isWait }

    /// Notes the beginning of a span.
    /// - Returns: Its number, or nil if it is left out.
    mutating func begin(_ kind: Kind, in parent: Int, at now: MonotonicInstant) -> Int? {
        if spans[parent].isSealed { return nil }
        if spans.count >= Self.maxSpans {
            omitted += 1
            return nil
        }
        // One growth fewer for the usual stack.
        if spans.count == 1 { spans.reserveCapacity(32) }
        spans.append(Span(parent: parent, kind: kind, start: now))
        return spans.count - 1
    }

    /// Notes the beginning of an exchange.
    mutating func begin(_ request: Request, in parent: Int, at now: MonotonicInstant) -> Int? {
        if exchanges.count >= Self.maxExchanges, !spans[parent].isSealed {
            omitted += 1
            return nil
        }
        let span = begin(.exchange(exchanges.count), in: parent, at: now)
        if span != nil { exchanges.append(Exchange(request)) }
        return span
    }

    /// Notes the message of a gate about its pass, if the span belongs to that gate.
    ///
    /// In a full trace, the span may belong to an outer gate.
    mutating func describe(_ span: Int, of gate: String, _ detail: String) {
        guard case .gate(let plan, let position) = spans[span].kind,
            plan.gateName(at: position) == gate
        else { return }
        spans[span].detail = detail
    }

    /// Notes the end of a span, if it has not ended.
    ///
    /// With a wait, everything inside ends, because work that continues afterwards serves other
    /// calls.
    mutating func end(_ span: Int, _ outcome: Outcome, at now: MonotonicInstant) {
        guard spans[span].end == nil else { return }
        spans[span].end = now
        spans[span].outcome = outcome
        if spans[span].kind.isWait { sealAll(inside: span, at: now) }
    }

    private mutating func sealAll(inside wait: Int, at now: MonotonicInstant) {
        spans[wait].isSealed = true
        for index in spans.indices.dropFirst(wait + 1) where spans[spans[index].parent].isSealed {
            spans[index].isSealed = true
            if spans[index].end == nil {
                spans[index].end = now
                spans[index].outcome = .cancelled
            }
        }
    }

    /// Changes the exchange that a span is, or lies in, unless it has ended.
    mutating func change(_ span: Int, _ change: (inout Exchange) -> Void) {
        var place = span
        while place > 0 {
            if case .exchange(let index) = spans[place].kind {
                if spans[place].end == nil { change(&exchanges[index]) }
                return
            }
            place = spans[place].parent
        }
    }

    /// Ends the call, and with it all spans that are under way.
    mutating func end(_ outcome: Outcome, at now: MonotonicInstant) {
        for index in spans.indices where spans[index].end == nil {
            spans[index].end = now
            spans[index].outcome = outcome.inherited(by: self, index)
        }
        spans[0].outcome = outcome
    }
}

extension RecordedTrace.Outcome {
    // The end of a span that is under way when its call ends.
    fileprivate func inherited(
        by trace: RecordedTrace, _ span: Int
    ) -> RecordedTrace.Outcome {
        if case .exchange(let index) = trace.spans[span].kind,
            trace.exchanges[index].head != nil, case .dropped = self
        {
            return .dropped
        }
        return .cancelled
    }
}

extension Request {
    /// The request without content that will not be searched for secrets, so that nothing keeps it.
    fileprivate var withoutLargeContent: Request {
        if let data = body.inMemory, data.count <= CarriedSecrets.maxContent { return self }
        var copy = self
        copy.body = .empty
        return copy
    }
}

extension HTTPHeaders {
    /// The first fields, as many as fit.
    fileprivate func prefix(upTo maxBytes: Int) -> HTTPHeaders {
        var rest = maxBytes
        let isLong = contains { field in
            rest -= field.name.rawValue.utf8.count + field.value.utf8.count
            return rest < 0
        }
        if !isLong { return self }
        rest = maxBytes
        return HTTPHeaders(
            lazy.map { ($0.name.rawValue, $0.value) }.prefix { field in
                rest -= field.0.utf8.count + field.1.utf8.count
                return rest >= 0
            })
    }
}
