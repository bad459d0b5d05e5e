// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The times of the events of a call.
///
/// All times except `start` belong to the last exchange of the call. A redirect or a retry begins a
/// new exchange. A time that the transport does not know is nil.
///
/// The description shows the duration of each phase, for example `DNS 1.2 ms, connect 10.5 ms, TLS
/// 12.0 ms, first byte 20.1 ms, head 0.1 ms, body 3.4 ms, total 47.3 ms`.
public struct Timeline: Sendable, Hashable {
    /// The start of the call.
    public var start: MonotonicInstant?
    /// The time when the transport got the last exchange.
    public var sent: MonotonicInstant?
    /// The time when the host name was resolved.
    public var resolved: MonotonicInstant?
    /// The time when the connection was available, either newly established or from the pool.
    public var connected: MonotonicInstant?
    /// The time when the TLS handshake was complete.
    public var secured: MonotonicInstant?
    /// The time when the request could be sent (libcurl's pre-transfer time).
    public var ready: MonotonicInstant?
    /// The time of the first byte of the response.
    public var firstByte: MonotonicInstant?
    /// The time when the response head was complete.
    public var head: MonotonicInstant?
    /// The time when the response body had ended.
    public var bodyEnd: MonotonicInstant?
    /// The time when the body had been converted into a value.
    public var serialized: MonotonicInstant?
    /// Whether the connection has served another exchange; nil if unknown.
    public var isConnectionReused: Bool?
    /// The address of the peer; with a connect target, also the port, or the path of the socket.
    public var peerAddress: String?
    /// The HTTP version of the response, such as `1.1` or `2`.
    public var protocolVersion: String?
    /// The number of response content bytes before decoding, or nil if unknown.
    public var encodedBodyBytes: Int64?
    /// The number of request content bytes that the last exchange has sent.
    public var bodyBytesSent: Int64 = 0
    /// The number of response content bytes that were read.
    public var bodyBytesReceived: Int64 = 0

    /// Creates an empty timeline.
    public init() {}

    mutating func begin(at now: MonotonicInstant) {
        let begin = start
        self = Timeline()
        start = begin
        sent = now
    }

    /// The time from the start of the call to the response head, with earlier attempts and waits.
    public var latency: Duration? { Self.span(start, head) }
    /// The time from the start of the call to the end of the body.
    public var requestDuration: Duration? { Self.span(start, bodyEnd) }
    var serializationDuration: Duration? { Self.span(bodyEnd, serialized) }
    /// The time from the start of the call to the last event of the call.
    public var totalDuration: Duration? { Self.span(start, serialized ?? bodyEnd ?? head) }

    static func span(_ from: MonotonicInstant?, _ to: MonotonicInstant?) -> Duration? {
        guard let from, let to else { return nil }
        return from.duration(to: to)
    }
}

extension Timeline {
    /// The time from the start of the call to the last exchange, with earlier waits.
    public var preparationDuration: Duration? { Self.phase(start, sent) }

    /// The time for the resolution of the host name (DNS); nil for a reused connection.
    public var resolutionDuration: Duration? {
        isConnectionReused == true ? nil : Self.phase(sent, resolved)
    }

    /// The time to connect, without resolution and TLS, or the wait for a reused connection.
    public var connectDuration: Duration? {
        Self.phase(isConnectionReused == true ? sent : resolved ?? sent, connected)
    }

    /// The time for the TLS handshake; nil for a reused connection or without TLS.
    public var tlsDuration: Duration? {
        isConnectionReused == true ? nil : Self.phase(connected ?? sent, secured)
    }

    /// The time from the complete connection, including TLS, to the first byte of the response.
    public var firstByteDuration: Duration? { Self.phase(beginOfRequest, firstByte) }

    /// The time from the first byte to the end of the response head, including interim responses;
    /// if the first byte is unknown, the time from the complete connection.
    public var headDuration: Duration? { Self.phase(firstByte ?? beginOfRequest, head) }

    /// The time from the response head to the end of the body, which depends on the reader.
    public var bodyDuration: Duration? { Self.phase(head, bodyEnd) }

    private var beginOfRequest: MonotonicInstant? {
        (isConnectionReused == true ? nil : secured) ?? connected ?? sent
    }

    // A transport may use another clock, whose times may be slightly late.
    private static func phase(_ from: MonotonicInstant?, _ to: MonotonicInstant?) -> Duration? {
        span(from, to).map { max($0, .zero) }
    }

    /// The known phases of the last exchange, in order, with the name of a JSON member, the
    /// duration, and a text for people.
    public var phases: [(name: String, duration: Duration, text: String)] {
        [
            ("DNS", "dns", resolutionDuration), ("connect", "connect", connectDuration),
            ("TLS", "tls", tlsDuration), ("first byte", "firstByte", firstByteDuration),
            ("head", "head", headDuration), ("body", "body", bodyDuration),
        ].compactMap { (title: String, name: String, duration: Duration?) in
            duration.map { (name, $0, Self.text(title, $0)) }
        }
    }

    private static func text(_ title: String, _ duration: Duration) -> String {
        "\(title) \(duration.text)"
    }
}

extension Timeline: CustomStringConvertible {
    /// The durations of each known phase and of the whole call.
    ///
    /// `before` is ``preparationDuration``, which is shown if it is long enough to matter. `value`
    /// is the time for the conversion into a value.
    public var description: String {
        let preparation = preparationDuration.flatMap { $0 < .microseconds(50) ? nil : $0 }
        let before = preparation.map { Self.text("before", $0) }
        let reuse = isConnectionReused == true ? "connection reused" : nil
        let value = serializationDuration.map { Self.text("value", $0) }
        let total = totalDuration.map { Self.text("total", $0) }
        let texts = [before, reuse] + phases.map(\.text) + [value, total]
        let known = texts.compactMap { $0 }
        return known.isEmpty ? "no times yet" : known.joined(separator: ", ")
    }
}
