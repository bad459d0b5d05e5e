// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The share of calls to one origin that is admitted, and the measurements behind it.
///
/// The share is cut to a small part when most of the latest attempts were rejected, and then grows
/// with time, slowly at first: additive increase and multiplicative decrease (Chiu and Jain, 1989)
/// with a cut that is deep enough for the server's queue to drain. Outcomes of attempts that were
/// sent before a cut do not count, as losses within one window of TCP count once (RFC 6582). So each
/// cut acts before the next one, whatever the attempts take.
struct AdmissionShare: BoundedMapEntry {
    /// When the share is cut, and how fast it grows.
    struct Rules: Sendable, Equatable {
        /// The share of the latest attempts beyond which rejections cut the share.
        let threshold: Double
        /// The time in which the share grows from nothing to all calls.
        let recovery: Duration
        /// The longest wait for a head while the share is cut, in usual waits; nil for no limit.
        let slowness: Double?

        init(threshold: Double, recovery: Duration, slowness: Double?) {
            // NaN becomes the default.
            self.threshold = threshold >= 0 ? min(threshold, 0.99) : threshold < 0 ? 0 : 0.7
            self.recovery = min(max(recovery, .milliseconds(1)), .seconds(86_400))
            self.slowness = slowness.map { $0 >= 1 ? $0 : 1 }
        }
    }

    /// The result of an attempt.
    enum Evidence {
        /// The server accepted the attempt; its head came after a time.
        case accepted(after: Duration)
        case rejected
    }

    private enum Phase {
        case open
        /// The share has been growing since it was cut to `from`.
        case limited(since: MonotonicInstant, from: Double)
    }

    private var phase = Phase.open
    // The share of the latest attempts that were rejected.
    private var rejected = 0.0
    private var heardAt: MonotonicInstant?
    // The logarithm of the usual wait for a head, in seconds.
    private var usualWait: Double?
    // The shares of critical and of sheddable calls among the latest calls.
    private var critical = 0.0
    private var sheddable = 0.0

    /// The factor by which the share is cut.
    private static let cut = 0.03
    /// The highest weight of the newest attempt among the latest ones.
    private static let newest = 0.4
    /// The time over which attempts count, if they are many.
    private static let span = 0.5
    /// The weight of one wait in the usual wait, and of one call in the mix of calls.
    private static let longMean = 0.02
    /// The part of the growth that is linear; the rest is quadratic.
    private static let linear = 0.4

    // If an entry is dropped, all calls are admitted.
    var isInUse: Bool { false }

    /// Whether some calls may be refused, as of the latest call or outcome.
    var isLimited: Bool { if case .limited = phase { true } else { false } }

    /// The share of the calls that is admitted: 0 to 1.
    func share(at now: MonotonicInstant, _ rules: Rules) -> Double {
        guard case .limited(let since, let from) = phase else { return 1 }
        let time = max(since.duration(to: now) / rules.recovery, 0)
        return min(from + time * (Self.linear + (1 - Self.linear) * time), 1)
    }

    /// The time until all calls are admitted, if no further calls are rejected.
    func timeToAll(at now: MonotonicInstant, _ rules: Rules) -> Duration {
        guard case .limited(let since, let from) = phase else { return .zero }
        let (linear, square) = (Self.linear, 1 - Self.linear)
        let root = (linear * linear + 4 * square * (1 - from)).squareRoot()
        let end = since.advanced(by: rules.recovery * ((root - linear) / (2 * square)))
        return max(now.duration(to: end), .zero)
    }

    /// Decides whether a call is admitted.
    /// - Parameters:
    ///   - criticality: The class of the call.
    ///   - now: The current time.
    ///   - rules: The rules in force.
    ///   - unit: Returns a random number in 0..<1; called only if the share is cut.
    /// - Returns: Whether the call is admitted.
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

    /// The chance that a call is admitted: critical calls use the share first, others use the rest.
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

    /// Records the outcome of an attempt.
    /// - Returns: Whether calls are refused from now on, and were not before.
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
            // Old results are no evidence about the present state.
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

    // The mean of logarithms: a few slow calls among many fast ones hardly change it.
    private mutating func learn(_ wait: Duration) {
        let seconds = log(max(wait.inSeconds, 1e-6))
        usualWait = usualWait.map { $0 + Self.longMean * (seconds - $0) } ?? seconds
    }
}
