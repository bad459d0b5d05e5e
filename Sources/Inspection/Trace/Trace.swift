// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// The times of one call, with gates, attempts, waits and exchanges as spans on one time axis.
///
/// ```swift
/// let call = client.get("users/1").traced()
/// let user = try await call.decode(User.self)
/// for span in call.trace?.spans ?? [] { print(span) }
/// ```
///
/// ``TurnpikeCore/Call/traced(redaction:)`` records one call. A ``TraceStore`` records the calls of
/// a client that are slow, failed, or chosen at random. A trace contains no secrets, because
/// secrets are removed by the rules of logs before the trace is stored. A trace is a snapshot,
/// which does not change. A later snapshot of the same call may have more spans.
///
/// A trace of any call takes at most about 64 KiB. Spans that do not fit are left out and counted
/// (``omitted``).
public struct Trace: Sendable, Hashable, Identifiable {
    /// The identifier of the call, as in logs.
    public let id: CallID
    /// The wall-clock time at the start of the call.
    public let date: Date
    /// The spans in the order of their starts.
    ///
    /// The first span is the call. Each span is within the time of the parent span.
    public let spans: [TraceSpan]
    /// The number of spans that were left out because of the limit on the size of a trace.
    public let omitted: Int
    /// Whether the call has ended, either with the end of the response body or with an error.
    public let isComplete: Bool

    init(id: CallID, date: Date, spans: [TraceSpan], omitted: Int = 0, isComplete: Bool = true) {
        self.id = id
        self.date = date
        self.spans = spans
        self.omitted = omitted
        self.isComplete = isComplete
    }
}

extension Trace {
    /// The direct children of a span in the order of their starts.
    public func children(of span: TraceSpan) -> [TraceSpan] {
        spans.filter { $0.parent == span.id }
    }

    /// The time of a span in which no child was running; nil while the span is running.
    ///
    /// If no spans overlap, the own times of all spans add up to the time of the call. Spans of
    /// parallel attempts, such as hedges, overlap.
    public func ownTime(of span: TraceSpan) -> Duration? {
        guard let duration = span.duration else { return nil }
        var covered = Duration.zero
        var end = span.start
        for child in children(of: span) {
            guard let length = child.duration else { return nil }
            let childEnd = child.start + length
            if childEnd > end { covered += childEnd - max(child.start, end) }
            end = max(end, childEnd)
        }
        return duration - covered
    }
}

extension Trace {
    static let bytesOfField = MemoryLayout<HTTPHeaders.Field>.stride

    /// The approximate number of bytes of memory for the trace.
    ///
    /// A text that several spans share counts once.
    var byteCount: Int {
        var texts: Set<String> = []
        var count = MemoryLayout<Trace>.size + spans.count * MemoryLayout<TraceSpan>.stride
        for span in spans {
            texts.insert(span.name)
            if case .failed(let label, let description) = span.outcome {
                texts.formUnion([label, description])
            }
            if let exchange = span.exchange { count += exchange.byteCount }
        }
        return texts.reduce(count) { $0 + $1.utf8.count }
    }
}

extension TraceExchange {
    fileprivate var byteCount: Int {
        MemoryLayout<TraceExchange>.size + url.utf8.count + Self.size(of: requestHeaders)
            + Self.size(of: responseHeaders ?? [:])
            + chunks.count * MemoryLayout<TraceChunks>.stride
    }

    private static func size(of headers: HTTPHeaders) -> Int {
        headers.reduce(0) {
            $0 + $1.name.rawValue.utf8.count + $1.value.utf8.count + Trace.bytesOfField
        }
    }
}
