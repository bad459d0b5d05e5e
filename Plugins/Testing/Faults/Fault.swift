// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// A fault of a ``FaultTransport`` and its frequency.
public struct Fault: Sendable {
    enum Kind: Sendable {
        case latency(MockLatency)
        case refuse
        case lose
        case status(HTTPStatus)
        case reset(after: ClosedRange<Int>)
        case truncate(after: ClosedRange<Int>)
        case drip(bytes: Int, interval: Duration)
    }

    enum Occasion: Sendable {
        case share(Double)
        case burst(length: Duration, period: Duration)
    }

    let name: String
    let kind: Kind
    var occasion: Occasion
    var matchers: [RequestMatcher] = []

    private init(_ name: String, _ kind: Kind, _ share: Double) {
        self.name = name
        self.kind = kind
        occasion = .share(share)
    }

    /// Delays requests.
    public static func latency(_ latency: MockLatency, share: Double = 1) -> Fault {
        Fault("latency", .latency(latency), share)
    }

    /// Refuses the connection; nothing is sent.
    public static func refuse(share: Double) -> Fault { Fault("refuse", .refuse, share) }

    /// Loses the connection after the request was sent and before the response.
    public static func lose(share: Double) -> Fault { Fault("lose", .lose, share) }

    /// Responds with a status as a proxy would; the request does not reach the server.
    public static func status(_ status: HTTPStatus, share: Double) -> Fault {
        Fault("status \(status.code)", .status(status), share)
    }

    /// Resets the connection after some bytes of the content.
    public static func reset(after bytes: ClosedRange<Int>, share: Double) -> Fault {
        Fault("reset", .reset(after: bytes), share)
    }

    /// Ends the content early, after some bytes.
    public static func truncate(after bytes: ClosedRange<Int>, share: Double) -> Fault {
        Fault("truncate", .truncate(after: bytes), share)
    }

    /// Delivers the content in small pieces, with a delay before each.
    public static func drip(bytes: Int, every interval: Duration, share: Double) -> Fault {
        Fault("drip", .drip(bytes: max(bytes, 1), interval: interval), share)
    }

    /// Returns the same fault, applied to every request during bursts instead of to a share of all
    /// requests.
    /// - Parameters:
    ///   - length: The duration of a burst.
    ///   - period: The duration of a period with one burst. The seed decides when the burst starts
    ///     within its period.
    /// - Returns: The fault.
    public func inBursts(of length: Duration, every period: Duration) -> Fault {
        var copy = self
        copy.occasion = .burst(length: length, period: max(period, length))
        return copy
    }

    /// Returns the same fault, applied only to requests that satisfy all conditions.
    public func only(where matchers: RequestMatcher...) -> Fault {
        var copy = self
        copy.matchers += matchers
        return copy
    }
}
