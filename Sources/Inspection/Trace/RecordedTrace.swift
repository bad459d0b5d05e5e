// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The data of a recorder about a call, before secrets are hidden.
///
/// The size is bounded: after ``maxSpans`` spans, new spans are only counted.
struct RecordedTrace {
    static let maxSpans = 160
    static let maxExchanges = 48

    static let maxHeadBytes = 16_384

    /// Returns at most `limit` buckets, of which the oldest may be merged.
    enum Kind {
        case call(Request)
        /// A gate handles a request; the name of the gate is read only when a trace is made.
        case gate(GatePass)
        case attempt(Int)
        case wait(String)
        case exchange(Int)
    }

    enum Outcome {
        case returned(HTTPStatus?)
        case failed(any Error)
        case cancelled
        case dropped

        init(_ error: any Error) {
            self = error is CancellationError ? .cancelled : .failed(error)
        }

        init(_ result: Result<HTTPStatus?, any Error>) {
            switch result {
            case .success(let status): self = .returned(status)
            case .failure(let error): self = Outcome(error)
            }
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
        let part: Int
        let parent: Int
        let kind: Kind
        let start: MonotonicInstant
        var end: MonotonicInstant?
        var outcome: Outcome?
        /// Whether no further span may begin inside this span.
        var isSealed = false
        var detail: String?
    }

    struct Exchange {
        let request: Request
        let requestBodyBytes: Int64?
        var head: ResponseHead?
        var headAt: MonotonicInstant?
        var encodedBodyBytes: Int64?
        var timeline = Timeline()
        var contentSentAt: MonotonicInstant?
        var bytesReceived: Int64 = 0
        var chunks = ChunkBuckets()

        init(_ request: Request) {
            self.request = request.withoutLargeContent
            requestBodyBytes = request.body.length
        }

        mutating func add(_ bytes: Int, at now: MonotonicInstant) {
            bytesReceived += Int64(bytes)
            chunks.add(bytes, at: now)
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

    let id: CallID
    let date: Date
    let timeSource: any TimeSource

    init(_ request: Request, in context: Context) {
        id = context.id
        timeSource = context.timeSource
        date = timeSource.date
        // This capacity suffices for the usual stack.
        spans = []
        spans.reserveCapacity(32)
        spans.append(
            Span(
                part: context.part, parent: -1, kind: .call(request.withoutLargeContent),
                start: timeSource.now))
    }

    mutating func apply<Result>(_ change: (inout RecordedTrace) -> Result) -> Result {
        change(&self)
    }

    private func span(of part: Int) -> Int? {
        // Parts are numbered when they begin, but events of parallel parts may arrive in another
        // order.
        let place = min(part, spans.count - 1)
        if spans[place].part == part { return place }
        return spans.lastIndex { $0.part == part }
    }

    mutating func begin(_ part: Int, _ kind: CallPart, in parent: Int, at now: MonotonicInstant) {
        let isFull = spans.count >= Self.maxSpans
        guard let parent = span(of: parent) else {
            if isFull { omitted += 1 }
            return
        }
        if spans[parent].isSealed { return }
        if isFull {
            omitted += 1
            return
        }
        let noted: Kind
        switch kind {
        case .call(let request): noted = .call(request.withoutLargeContent)
        case .gate(let pass): noted = .gate(pass)
        case .attempt(let number): noted = .attempt(number)
        case .wait(let name): noted = .wait(name)
        case .exchange(let request):
            if exchanges.count >= Self.maxExchanges {
                omitted += 1
                return
            }
            noted = .exchange(exchanges.count)
            exchanges.append(Exchange(request))
        }
        spans.append(Span(part: part, parent: parent, kind: noted, start: now))
    }

    mutating func describe(_ part: Int, of gate: String, _ detail: String) {
        guard let span = span(of: part), case .gate(let pass) = spans[span].kind,
            pass.gateName == gate
        else { return }
        spans[span].detail = detail
    }

    /// Records the end of a span, if the span has not ended.
    ///
    /// The inner parts of a wait end with the wait, because later work is for other calls.
    mutating func end(_ part: Int, _ outcome: Outcome, at now: MonotonicInstant) {
        guard let span = span(of: part), spans[span].end == nil else { return }
        spans[span].end = now
        spans[span].outcome = outcome
        if case .wait = spans[span].kind { sealAll(inside: span, at: now) }
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

    mutating func change(_ part: Int, _ change: (inout Exchange) -> Void) {
        var place = span(of: part) ?? 0
        while place > 0 {
            if case .exchange(let index) = spans[place].kind {
                if spans[place].end == nil { change(&exchanges[index]) }
                return
            }
            place = spans[place].parent
        }
    }

    mutating func end(_ outcome: Outcome, at now: MonotonicInstant) {
        for index in spans.indices where spans[index].end == nil {
            spans[index].end = now
            spans[index].outcome = outcome.inherited(by: self, index)
        }
        spans[0].outcome = outcome
    }
}

extension RecordedTrace.Outcome {
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
    fileprivate var withoutLargeContent: Request {
        if let data = body.inMemory, data.count <= 65_536 { return self }
        var copy = self
        copy.body = .empty
        return copy
    }
}

extension HTTPHeaders {
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
