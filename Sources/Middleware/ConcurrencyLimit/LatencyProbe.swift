// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

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
