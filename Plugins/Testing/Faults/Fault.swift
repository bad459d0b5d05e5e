public import TurnpikeCore

/// One way in which a ``FaultTransport`` misbehaves, and how often.
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

    /// Requests leave later.
    public static func latency(_ latency: MockLatency, share: Double = 1) -> Fault {
        Fault("latency", .latency(latency), share)
    }

    /// The connection is refused: nothing is sent.
    public static func refuse(share: Double) -> Fault { Fault("refuse", .refuse, share) }

    /// The request is sent, and the connection is lost before its answer.
    public static func lose(share: Double) -> Fault { Fault("lose", .lose, share) }

    /// A proxy on the way answers with a status: the request does not reach the server.
    public static func status(_ status: HTTPStatus, share: Double) -> Fault {
        Fault("status \(status.code)", .status(status), share)
    }

    /// The connection is reset after some bytes of the content.
    public static func reset(after bytes: ClosedRange<Int>, share: Double) -> Fault {
        Fault("reset", .reset(after: bytes), share)
    }

    /// The content ends after some bytes, before its end.
    public static func truncate(after bytes: ClosedRange<Int>, share: Double) -> Fault {
        Fault("truncate", .truncate(after: bytes), share)
    }

    /// The content comes in small pieces, each after a time.
    public static func drip(bytes: Int, every interval: Duration, share: Double) -> Fault {
        Fault("drip", .drip(bytes: max(bytes, 1), interval: interval), share)
    }

    /// The same fault, on every request within bursts instead of on a share of all.
    /// - Parameters:
    ///   - length: How long a burst lasts.
    ///   - period: The time from the begin of one to the begin of the next; where in its period
    ///     each one lies is drawn from the seed.
    /// - Returns: The fault.
    public func inBursts(of length: Duration, every period: Duration) -> Fault {
        var copy = self
        copy.occasion = .burst(length: length, period: max(period, length))
        return copy
    }

    /// The same fault, on the requests alone that meet all conditions.
    public func only(where matchers: RequestMatcher...) -> Fault {
        var copy = self
        copy.matchers += matchers
        return copy
    }
}
