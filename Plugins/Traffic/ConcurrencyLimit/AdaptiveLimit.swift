// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// How a limit on concurrent calls adapts to what a server can bear: additive increase,
/// multiplicative decrease, as in TCP (Chiu and Jain, 1989).
///
/// The defaults are common in libraries for servers of unknown capacity: begin with
/// 20, never go below 4, decrease by a tenth. The limit never exceeds the gate's `perOrigin`, even
/// if `perOrigin` is below these values.
///
/// While the limit is in use, each good response raises the limit of its origin a little: a full
/// round of responses raises it by one. A sign of overload lowers the limit by a factor, at most
/// once within ``pause``.
public struct AdaptiveLimit: Sendable {
    /// The first limit; nil means the gate's `perOrigin`.
    public var initial: Int?
    /// The lowest limit.
    public var min: Int
    /// The factor that overload lowers the limit by.
    public var decrease: Double
    /// The time after a decrease in which no other one follows: earlier requests may still fail.
    public var pause: Duration
    /// Whether an outcome is a sign of overload.
    public var isOverload: @Sendable (Outcome) -> Bool
    /// Whether latency sets the limit, beside the signs of overload; see ``latency``.
    public var followsLatency = false

    /// A limit that also reacts to latency, before a server refuses requests.
    ///
    /// Every few seconds the limit is halved for one round of requests. If these requests are
    /// faster than requests at the whole limit, requests wait for each other at the server, and the
    /// limit falls. Otherwise the limit rises. Latency is the time to the head of a good response.
    /// Signs of overload lower the limit as with the other rules.
    ///
    /// Use it if a server has few clients: each client learns only from its own requests. With four
    /// or more clients that all wait for permits, limits may rise to `perOrigin`, as without the
    /// rule.
    public static var latency: AdaptiveLimit {
        var rule = AdaptiveLimit()
        rule.followsLatency = true
        return rule
    }

    /// Creates a rule.
    /// - Parameters:
    ///   - initial: The first limit; nil means the gate's `perOrigin`.
    ///   - min: The lowest limit.
    ///   - decrease: The factor that overload lowers the limit by, below 1.
    ///   - pause: The time after a decrease in which no other decrease follows.
    ///   - isOverload: Whether an outcome is a sign of overload; by default 429, 503, and attempts
    ///     or connections that take too long.
    public init(
        initial: Int? = 20, min: Int = 4, decrease: Double = 0.9, pause: Duration = .seconds(1),
        isOverload: @escaping @Sendable (Outcome) -> Bool = AdaptiveLimit.standardSigns
    ) {
        self.initial = initial
        self.min = Swift.max(min, 1)
        // NaN becomes 0, which lowers the limit to the lowest.
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

/// Finds the limit of one origin by its latency.
///
/// Every few seconds it halves the limit for one round of requests, and compares the latency of that
/// round with the latency at the whole limit. If requests wait for each other at the server, fewer
/// requests at once are proportionally faster (Little's law), and the limit falls. Otherwise the
/// limit rises. A rule that remembers the lowest latency, as in TCP Vegas, expects the latency of
/// the fastest request. The limit then falls far below the capacity of the server.
struct LatencyProbe {
    /// The limit, as a multiple of the number of requests at which requests begin to wait.
    ///
    /// Without waiting requests, the limit would look like a limit that is too low.
    private static let gain = 1.25
    /// Below this ratio of latencies, far too many requests wait, and half of a step is too little.
    private static let far = 0.65
    private static let pause = Duration.seconds(5)

    private var whole: Double
    private var isProbing = false
    // The mean latency at half of the limit.
    private var base: Double?
    private var probesFrom: MonotonicInstant?
    // Requests that were sent under another limit do not count.
    private var since: MonotonicInstant?
    private var count = 0
    private var sum = 0.0

    init(limit: Double) { whole = limit }

    /// Adds the latency of a request.
    /// - Returns: The limit from now on.
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

    /// Lowers the limit because of a sign of overload other than latency.
    mutating func lower(by factor: Double) { whole *= factor }

    // Returns whether the limit fell so much that the base must be measured again.
    private mutating func step(_ ratio: Double) -> Bool {
        let ratio = min(ratio, 1)
        let factor = Self.gain * ratio
        let step = ratio < Self.far ? factor : (1 + factor) / 2
        whole *= step
        return step < 0.9
    }
}
