// SPDX-License-Identifier: Apache-2.0

import TurnpikeEssentials
public import TurnpikeStackFiles

extension Registry {
    /// Adds the gate `tracing` to the names of stack files.
    ///
    /// A stack file has only one list, so it names the gate twice: `{"use": "tracing"}` first, and
    /// `{"use": "tracing", "spans": "attempts"}` last. The linter reports an entry in the wrong
    /// place. The tracer is that of `InstrumentationSystem`.
    public mutating func registerTracing() {
        register(
            gate: "tracing",
            description: PartDescription(
                """
                Makes spans of swift-distributed-tracing. Place it outermost for the span of the call, \
                and once more as the last gate, with `"spans": "attempts"`, for the requests that \
                are sent.
                """,
                settings: ["spans": "What has a span: the call, or each request that is sent."],
                example: #"{"use": "tracing", "spans": "call"}"#)
        ) { settings -> any Gate in
            let spans = SpanMaker(tracer: nil, redaction: .standard)
            return switch settings.choice("spans", default: TracedPart.call) {
            case .call: CallSpans(spans: spans)
            case .attempts: AttemptSpan(spans: spans)
            }
        }
    }
}

/// What a span is created for.
private enum TracedPart: String, CaseIterable {
    case call
    case attempts
}
