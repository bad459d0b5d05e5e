import InMemoryTracing
import Synchronization
import Tracing
import Turnpike

/// A tracer that keeps the latest spans in memory and speaks W3C Trace Context.
///
/// A service of your own takes a finished back end, such as swift-otel, which sends spans to a
/// collector. Everything else stays as it is here: middleware and gates know only `Tracer`.
final class SpanStore: Tracer {
    private struct Entry {
        let span: InMemorySpan
        var ended: FinishedInMemorySpan?
    }

    private struct State {
        var entries: [Entry] = []
        var started = 0
    }

    // The oldest span makes room for a new one.
    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) { self.capacity = capacity }

    // MARK: Spans

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind, at instant: @autoclosure () -> Instant, function: String,
        file fileID: String, line: UInt
    ) -> InMemorySpan {
        let context = context()
        let parent = context.inMemorySpanContext
        let identity = InMemorySpanContext(
            traceID: parent?.traceID ?? Self.digits() + Self.digits(), spanID: Self.digits(),
            parentSpanID: parent?.spanID)
        let start = instant()
        return state.withLock { state in
            let number = state.started
            let span = InMemorySpan(
                operationName: operationName, context: context, spanContext: identity, kind: kind,
                startInstant: start
            ) { [weak self] in self?.end($0, number) }
            if state.entries.count < capacity {
                state.entries.append(Entry(span: span))
            } else {
                state.entries[number % capacity] = Entry(span: span)
            }
            state.started += 1
            return span
        }
    }

    private func end(_ span: FinishedInMemorySpan, _ number: Int) {
        state.withLock { state in
            // A newer span may have its place already.
            if state.started - number <= capacity {
                state.entries[number % capacity].ended = span
            }
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
        // An invalid position is ignored, and a new trace begins.
        guard let parent = text.flatMap({ TraceParent(parsing: $0) }) else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: parent.traceID, spanID: parent.spanID, parentSpanID: nil)
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject(
            "00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
    }

    // MARK: What /traces/:id answers

    struct Row: Codable, Sendable {
        let span: String
        let parent: String?
        let name: String
        let kind: String
        let startNanoseconds: UInt64
        /// Nil while the span is open.
        let milliseconds: Double?
        let attributes: [String: String]
        let events: [String]
    }

    /// The spans of a trace in the order of their starts, as far as they are still kept.
    func rows(of traceID: String) -> [Row] {
        let entries = state.withLock { $0.entries.filter { $0.span.traceID == traceID } }
        return entries.map { entry in
            let (span, start) = (entry.span, entry.span.startInstant.nanosecondsSinceEpoch)
            var attributes: [String: String] = [:]
            span.attributes.forEach { name, value in attributes[name] = value.text }
            return Row(
                span: span.spanID, parent: span.parentSpanID, name: span.operationName,
                kind: "\(span.kind)", startNanoseconds: start,
                milliseconds: entry.ended.map {
                    (Double($0.endInstant.nanosecondsSinceEpoch) - Double(start)) / 1e6
                },
                attributes: attributes, events: span.events.map(\.name))
        }
        .sorted { $0.startNanoseconds < $1.startNanoseconds }
    }
}

extension SpanAttribute {
    fileprivate var text: String {
        switch self {
        case .int32(let value): "\(value)"
        case .int64(let value): "\(value)"
        case .string(let value): value
        case .stringConvertible(let value): "\(value)"
        default: "\(self)"
        }
    }
}
