// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// A rule that adapts a limit on concurrent calls to the capacity of a server.
///
/// The rule is additive increase and multiplicative decrease, as in TCP (Chiu and Jain, 1989). The
/// defaults are common in libraries for servers of unknown capacity. The limit starts with 20,
/// stays at 4 or above, and decreases by a tenth. The limit never exceeds `perOrigin` of the gate,
/// even if `perOrigin` is below these defaults.
///
/// While at least half of the limit is in use, each good response raises the origin's limit a
/// little. A number of responses equal to the limit raises the limit by one. A sign of overload
/// multiplies the limit by a factor, at most once within ``pause``.
public struct AdaptiveLimit: Sendable {
    /// The first limit, or nil for the gate's `perOrigin`.
    public var initial: Int?
    /// The lowest limit.
    public var min: Int
    /// The factor by which a sign of overload multiplies the limit.
    public var decrease: Double
    /// The time after a decrease without another decrease, as earlier requests may still fail.
    public var pause: Duration
    /// Whether an outcome is a sign of overload.
    public var isOverload: @Sendable (Outcome) -> Bool
    /// Whether the limit also depends on latency; see ``latency``.
    public var followsLatency = false

    /// A limit that also reacts to latency, before a server refuses requests.
    ///
    /// Every few seconds, the limit is halved for one round of requests. If these requests are
    /// faster than requests at the full limit, requests wait for one another at the server, and the
    /// limit falls. If these requests are not faster, the limit rises. Latency is the time to the
    /// head of a good response. Signs of overload lower this limit too.
    ///
    /// Use this rule if a server has few clients, because each client learns only from its own
    /// requests. If four or more clients all wait for permits, the limits may rise to `perOrigin`,
    /// as without this rule.
    public static var latency: AdaptiveLimit {
        var rule = AdaptiveLimit()
        rule.followsLatency = true
        return rule
    }

    /// Creates a rule.
    /// - Parameters:
    ///   - initial: The first limit, or nil for the gate's `perOrigin`.
    ///   - min: The lowest limit.
    ///   - decrease: The factor by which a sign of overload multiplies the limit, below 1.
    ///   - pause: The time after a decrease in which no other decrease follows.
    ///   - isOverload: Whether an outcome is a sign of overload. The default is
    ///     ``standardSigns(_:)``.
    public init(
        initial: Int? = 20, min: Int = 4, decrease: Double = 0.9, pause: Duration = .seconds(1),
        isOverload: @escaping @Sendable (Outcome) -> Bool = AdaptiveLimit.standardSigns
    ) {
        self.initial = initial
        self.min = Swift.max(min, 1)
        // NaN becomes 0. The factor 0 lowers the limit to the lowest value.
        self.decrease = decrease > 0 ? Swift.min(decrease, 0.99) : 0
        self.pause = pause
        self.isOverload = isOverload
    }

    /// Whether an outcome is a 429, a 503, or an attempt or connection that took too long.
    public static func standardSigns(_ outcome: Outcome) -> Bool {
        if let status = outcome.status { return status == 429 || status == 503 }
        return outcome.code == .attemptTimeout || outcome.code == .connectTimeout
    }
}

/// Finds the limit of one origin by measuring latency.
///
/// Every few seconds, the probe halves the limit for one round of requests, and compares the
/// latency with the latency at the full limit. If requests wait for one another at the server,
/// fewer concurrent requests are proportionally faster (Little's law), and the limit falls. If the
/// requests are not faster, the limit rises. TCP Vegas compares with the lowest latency ever, which
/// is the latency of the fastest request. This comparison would lower the limit far below the
/// capacity of the server.
struct LatencyProbe {
    /// The limit as a multiple of the number of requests at which requests begin to wait.
    ///
    /// If no request waits, a correct limit cannot be distinguished from a limit that is too low.
    private static let gain = 1.25
    /// The ratio of latencies below which far too many requests wait.
    private static let far = 0.65
    private static let pause = Duration.seconds(5)

    private var whole: Double
    private var isProbing = false
    private var base: Double?
    private var probesFrom: MonotonicInstant?
    // Requests from before this time do not count, because they were sent under another limit.
    private var since: MonotonicInstant?
    private var count = 0
    private var sum = 0.0

    init(limit: Double) { whole = limit }

    mutating func record(
        sentAt: MonotonicInstant, at now: MonotonicInstant, limit: Double,
        within bounds: ClosedRange<Double>
    ) -> Double {
        if sentAt < since ?? sentAt { return limit }
        count += 1
        sum += sentAt.duration(to: now).inSeconds
        guard count >= min(max(Int(limit) * 6, 10), 250) else { return limit }
        let mean = max(sum / Double(count), 1e-9)
        (count, sum, since) = (0, 0, now)
        if isProbing {
            (base, isProbing, probesFrom) = (mean, false, now.advanced(by: Self.pause))
        } else {
            if let base, step(base / mean) { probesFrom = nil }
            isProbing = now >= probesFrom ?? now
        }
        whole = min(max(whole, bounds.lowerBound), bounds.upperBound)
        return isProbing ? max(whole / 2, bounds.lowerBound) : whole
    }

    /// Lowers the limit after a sign of overload other than latency.
    mutating func lower(by factor: Double) { whole *= factor }

    // Returns true if the limit fell so far that the probe must measure the base again.
    private mutating func step(_ ratio: Double) -> Bool {
        let ratio = min(ratio, 1)
        let factor = Self.gain * ratio
        let step = ratio < Self.far ? factor : (1 + factor) / 2
        whole *= step
        return step < 0.9
    }
}
