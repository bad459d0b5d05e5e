// SPDX-License-Identifier: Apache-2.0

import InMemoryTracing
import Tracing
import Turnpike
import TurnpikeTesting
import TurnpikeTracing

let anywhere: Target = "https://example.com/users/1"

/// A client whose calls create spans in memory.
struct Traced {
    let tracer = InMemoryTracer()
    let clock = ManualClock()
    let client: Client

    init(_ transport: any Transport, around outer: Stack = [], _ stack: Stack = []) {
        client = Client(
            transport: transport, stack: outer + [.tracing(stack, tracer: tracer)],
            timeSource: clock)
    }

    /// The spans of ended calls, in the order of their beginnings.
    var calls: [FinishedInMemorySpan] { spans(.internal) }

    /// The spans of ended requests, in the order of their beginnings.
    var attempts: [FinishedInMemorySpan] { spans(.client) }

    private func spans(_ kind: SpanKind) -> [FinishedInMemorySpan] {
        // The identifiers contain numbers, as in `span-7`.
        func number(_ span: FinishedInMemorySpan) -> Int {
            Int(span.spanID.filter(\.isNumber)) ?? 0
        }
        return tracer.finishedSpans.filter { $0.kind == kind }
            .sorted { number($0) < number($1) }
    }
}

extension SpanAttributes {
    /// The attributes as texts.
    var texts: [String: String] {
        var texts: [String: String] = [:]
        forEach { name, value in
            switch value {
            case .string(let value): texts[name] = value
            case .int32(let value): texts[name] = String(value)
            case .int64(let value): texts[name] = String(value)
            case .double(let value): texts[name] = String(value)
            default: texts[name] = "of another type"
            }
        }
        return texts
    }
}

extension FinishedInMemorySpan {
    var texts: [String: String] { attributes.texts }
    var errorType: String? { texts["error.type"] }
    var isError: Bool { status?.code == .error }
}
