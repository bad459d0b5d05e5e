// SPDX-License-Identifier: Apache-2.0
import InMemoryTracing
import Synchronization
import Tracing
import Turnpike

/// A tracer that stores the latest spans in memory and uses W3C Trace Context.
///
/// For your own service, use a finished back end such as swift-otel, which sends spans to a
/// collector. Nothing else changes: the middleware of the server and the gates of the clients use
/// only `Tracer`.
final class SpanStore: Tracer {
    private struct State {
        var entries: [(span: InMemorySpan, ended: FinishedInMemorySpan?)] = []
        var started = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// - Parameter capacity: The most stored spans. A new span then replaces the oldest one.
    init(capacity: Int) { self.capacity = capacity }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind, at instant: @autoclosure () -> Instant, function: String,
        file fileID: String, line: UInt
    ) -> InMemorySpan {
        let (context, start) = (context(), instant())
        let parent = context.inMemorySpanContext
        let identity = InMemorySpanContext(
            traceID: parent?.traceID ?? Self.digits() + Self.digits(), spanID: Self.digits(),
            parentSpanID: parent?.spanID)
        return state.withLock { state in
            let number = state.started
            let span = InMemorySpan(
                operationName: operationName, context: context, spanContext: identity, kind: kind,
                startInstant: start, onEnd: { [weak self] in self?.end($0, number) })
            if number < capacity {
                state.entries.append((span, nil))
            } else {
                state.entries[number % capacity] = (span, nil)
            }
            state.started += 1
            return span
        }
    }

    private func end(_ span: FinishedInMemorySpan, _ number: Int) {
        state.withLock { state in
            // A newer span may already have taken its place.
            if state.started - number <= capacity { state.entries[number % capacity].ended = span }
        }
    }

    func forceFlush() {}

    private static func digits() -> String {
        let digits = String(UInt64.random(in: 1...UInt64.max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    // MARK: Propagation

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let text = extractor.extract(key: "traceparent", from: carrier)
        // If the field is invalid, it is ignored, and a new trace begins.
        guard let parent = text.flatMap({ TraceParent(parsing: $0) }) else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: parent.traceID, spanID: parent.spanID, parentSpanID: nil)
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        let text = "00-\(span.traceID)-\(span.spanID)-01"
        injector.inject(text, forKey: "traceparent", into: &carrier)
    }

    // MARK: The answer to /traces/:id

    struct Row: Codable, Sendable {
        let span, name, kind: String
        let parent: String?
        let startNanoseconds: UInt64
        /// The duration; nil while the span is open.
        let milliseconds: Double?
        let attributes: [String: String]
        let events: [String]
    }

    /// The stored spans of a trace in the order of their starts.
    func rows(of traceID: String) -> [Row] {
        let entries = state.withLock { $0.entries.filter { $0.span.traceID == traceID } }
        return entries.map { span, ended in
            let start = span.startInstant.nanosecondsSinceEpoch
            let end = ended?.endInstant.nanosecondsSinceEpoch
            var attributes: [String: String] = [:]
            span.attributes.forEach { attributes[$0] = Self.text($1) }
            return Row(
                span: span.spanID, name: span.operationName, kind: "\(span.kind)",
                parent: span.parentSpanID, startNanoseconds: start,
                milliseconds: end.map { (Double($0) - Double(start)) / 1e6 },
                attributes: attributes, events: span.events.map(\.name))
        }
        .sorted { $0.startNanoseconds < $1.startNanoseconds }
    }

    private static func text(_ attribute: SpanAttribute) -> String {
        switch attribute {
        case .int64(let value): "\(value)"
        case .string(let value): value
        case .stringConvertible(let value): "\(value)"
        default: "\(attribute)"
        }
    }
}
