// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The admitted share of the calls to one origin, and the measurements for this share.
///
/// If most of the latest attempts were rejected, the share is cut to a small part. After the cut,
/// the share grows with time, slowly at first. The rule is additive increase and multiplicative
/// decrease (Chiu and Jain, 1989). The cut is deep enough to empty the server's queue. Outcomes of
/// attempts that were sent before a cut do not count, as TCP counts the losses within one window
/// once (RFC 6582). Each cut therefore takes effect before the next cut, even with long attempts.
struct AdmissionShare: BoundedMapEntry {
    struct Rules: Sendable, Equatable {
        let threshold: Double
        let recovery: Duration
        /// The longest wait for a head after a cut, as a multiple of the usual wait, or nil.
        let slowness: Double?

        init(threshold: Double, recovery: Duration, slowness: Double?) {
            // NaN becomes the default threshold.
            self.threshold = threshold >= 0 ? min(threshold, 0.99) : threshold < 0 ? 0 : 0.7
            self.recovery = min(max(recovery, .milliseconds(1)), .seconds(86_400))
            self.slowness = slowness.map { $0 >= 1 ? $0 : 1 }
        }
    }

    enum Evidence {
        /// The server accepted the attempt, and sent the head after this time.
        case accepted(after: Duration)
        case rejected
    }

    private enum Phase {
        case open
        /// The share was cut to `from`, and grows from `since` on.
        case limited(since: MonotonicInstant, from: Double)
    }

    private var phase = Phase.open
    // The share of rejected attempts among the latest attempts.
    private var rejected = 0.0
    private var heardAt: MonotonicInstant?
    // The logarithm of the usual wait for a head, in seconds.
    private var usualWait: Double?
    // The shares of critical and of sheddable calls among the latest calls.
    private var critical = 0.0
    private var sheddable = 0.0

    /// Each cut reduces the share to this value.
    private static let cut = 0.03
    /// The highest weight of the newest attempt in the average of the latest attempts.
    private static let newest = 0.4
    /// The time in seconds over which many attempts are averaged.
    private static let span = 0.5
    /// The weight of the newest value in the usual wait and in the shares by criticality.
    private static let longMean = 0.02
    // The linear part of the growth. The rest of the growth is quadratic.
    private static let linear = 0.4

    // An entry may be dropped at any time. Without an entry, all calls are admitted.
    var isInUse: Bool { false }

    var isLimited: Bool { if case .limited = phase { true } else { false } }

    func share(at now: MonotonicInstant, _ rules: Rules) -> Double {
        guard case .limited(let since, let from) = phase else { return 1 }
        let time = max(since.duration(to: now) / rules.recovery, 0)
        return min(from + time * (Self.linear + (1 - Self.linear) * time), 1)
    }

    /// The time until all calls are admitted, if no further call is rejected.
    func timeToAll(at now: MonotonicInstant, _ rules: Rules) -> Duration {
        guard case .limited(let since, let from) = phase else { return .zero }
        let (linear, square) = (Self.linear, 1 - Self.linear)
        let root = (linear * linear + 4 * square * (1 - from)).squareRoot()
        let end = since.advanced(by: rules.recovery * ((root - linear) / (2 * square)))
        return max(now.duration(to: end), .zero)
    }

    // Decides whether a call is admitted. `unit` returns a random number in 0..<1, and is called
    // only after a cut.
    mutating func admit(
        _ criticality: Criticality, at now: MonotonicInstant, _ rules: Rules,
        unit: () -> Double
    ) -> Bool {
        critical += Self.longMean * ((criticality == .critical ? 1 : 0) - critical)
        sheddable += Self.longMean * ((criticality == .sheddable ? 1 : 0) - sheddable)
        guard isLimited else { return true }
        let share = share(at: now, rules)
        if share >= 1 {
            phase = .open
            return true
        }
        return unit() < self.share(of: criticality, from: share)
    }

    // Returns the probability that a call is admitted. Critical calls use the share first, and
    // other calls use what remains.
    func share(of criticality: Criticality, from share: Double) -> Double {
        let (before, own) =
            switch criticality {
            case .critical: (0.0, critical)
            case .default: (critical, 1 - critical - sheddable)
            case .sheddable: (1 - sheddable, sheddable)
            }
        let left = share - before
        return left <= 0 ? 0 : left >= own ? 1 : left / own
    }

    mutating func record(
        _ evidence: Evidence, sentAt: MonotonicInstant, at now: MonotonicInstant, _ rules: Rules
    ) -> Bool {
        let share = share(at: now, rules)
        let wasOpen = share >= 1
        if wasOpen { phase = .open }
        var isRejection = true
        if case .accepted(let wait) = evidence {
            isRejection = !wasOpen && isSlow(wait, rules)
            learn(wait)
        }
        if case .limited(let since, _) = phase, sentAt < since { return false }
        count(isRejection, at: now, rules)
        guard isRejection, rejected > rules.threshold else { return false }
        phase = .limited(since: now, from: share * Self.cut)
        return wasOpen
    }

    private mutating func count(_ isRejection: Bool, at now: MonotonicInstant, _ rules: Rules) {
        var weight = Self.newest
        if let heardAt {
            let age = max(heardAt.duration(to: now), .zero)
            // Old outcomes do not show the current state of the server.
            if age > rules.recovery * 4 { rejected = 0 }
            weight = min(weight, max(1 - exp(-age.inSeconds / Self.span), 0.001))
        }
        heardAt = now
        rejected += weight * ((isRejection ? 1 : 0) - rejected)
    }

    private func isSlow(_ wait: Duration, _ rules: Rules) -> Bool {
        guard let slowness = rules.slowness, let usualWait else { return false }
        return wait.inSeconds > slowness * exp(usualWait)
    }

    // The mean of logarithms changes little through a few slow calls.
    private mutating func learn(_ wait: Duration) {
        let seconds = log(max(wait.inSeconds, 1e-6))
        usualWait = usualWait.map { $0 + Self.longMean * (seconds - $0) } ?? seconds
    }
}
