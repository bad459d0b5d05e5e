// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// A part of a call that takes time: a gate, an attempt, a wait, an exchange with a server, or a
/// phase of an exchange.
public struct TraceSpan: Sendable, Hashable, Identifiable {
    /// The kind of activity that a span measures.
    public enum Kind: Sendable, Hashable {
        /// The whole call, which is the first span of each trace.
        case call
        /// The time of a request in a gate, including all inner gates.
        ///
        /// The span ends when the gate has returned and the body of the returned response has
        /// ended, because a gate may change the body.
        case gate
        /// An attempt, such as a retry, a hedge or a replay, with the number in the call.
        case attempt(Int)
        /// A wait of a gate: for a back-off, for a permit, or for a new token.
        case wait
        /// One send of a request, with ``TraceSpan/exchange``, until the response body ends.
        ///
        /// Each followed redirect is another exchange.
        case exchange
        /// A phase of an exchange that the transport has reported, such as `DNS`.
        case phase
        /// The time from the response head to the end of the body, which depends on the reader.
        case body
    }

    /// How a span ended.
    public enum Outcome: Sendable, Hashable {
        /// The activity ended without an error, and returned this status or no response.
        case returned(HTTPStatus?)
        /// The activity of the span failed.
        /// - Parameters:
        ///   - label: The error code or the name of the error type, as in metrics.
        ///   - description: The description of the error without secrets.
        case failed(label: String, description: String)
        /// The task, the handle or the client cancelled the activity, or another attempt was first.
        case cancelled
        /// The body of the response was released before the end.
        case dropped
    }

    /// The position of the span in ``Trace/spans``.
    public var id: Int { Int(place) }
    /// The position of the span around this span, or nil for the call.
    public var parent: Int? { outer < 0 ? nil : Int(outer) }
    /// The activity that the span measures.
    public let kind: Kind
    /// The name of the span without secrets, such as `Retry`, `attempt 2`, `back-off`,
    /// `GET /users`, `DNS`, `body` or `Endpoints: 10.0.0.7:8080 (2 under way)`.
    ///
    /// The phases of an exchange are named `queue`, `DNS`, `connect`, `TLS`, `request sent`, `first
    /// byte` and `head`, if the transport reports these phases.
    public let name: String
    /// The time from the start of the call to the start of the span.
    public var start: Duration { .nanoseconds(startNanoseconds) }
    /// The duration of the span, or nil while the span is running.
    public var duration: Duration? {
        nanoseconds == .max ? nil : .nanoseconds(nanoseconds)
    }
    /// How the span ended, or nil while the span is running.
    public let outcome: Outcome?
    /// The messages of the exchange, or nil if the kind is not ``Kind/exchange``.
    public var exchange: TraceExchange? {
        if case .one(let exchange) = held { exchange } else { nil }
    }

    // The case is indirect, because a trace has many spans but few exchanges.
    private indirect enum Held: Hashable {
        case none
        case one(TraceExchange)
    }

    private let place: Int32
    private let outer: Int32
    private let startNanoseconds: Int64
    private let nanoseconds: Int64
    private let held: Held

    init(
        id: Int, parent: Int?, kind: Kind, name: String, start: Duration, duration: Duration?,
        outcome: Outcome?, exchange: TraceExchange? = nil
    ) {
        place = Int32(clamping: id)
        outer = Int32(clamping: parent ?? -1)
        self.kind = kind
        self.name = name
        startNanoseconds = start.wholeNanoseconds
        // The largest number means that the duration is unknown.
        nanoseconds = duration.map { min($0.wholeNanoseconds, .max - 1) } ?? .max
        self.outcome = outcome
        held = exchange.map { .one($0) } ?? .none
    }
}
