// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// One rule of a quota, with a number of permits in a period.
///
/// Permits become available evenly, and up to ``burst`` unused permits are kept (the generic cell
/// rate algorithm, ITU-T I.371). In a time `t`, calls get at most `burst + t · permits / period`.
public struct QuotaRule: Sendable, Hashable {
    /// The number of permits in a period.
    public let permits: Double
    /// The period.
    public let period: Duration
    /// The number of permits that may be used at once after a pause, at least 1.
    public let burst: Double
    /// The text that identifies the state of the rule in a store, together with the key of the
    /// quota.
    ///
    /// The text contains permits, period, burst, and a suffix that distinguishes limits. Rules with
    /// the same identity share one state, at any index.
    public let identity: String

    /// Creates a rule.
    ///
    /// An invalid value becomes the nearest valid value.
    /// - Parameters:
    ///   - permits: The number of permits in a period, which may have a fraction.
    ///   - period: The period.
    ///   - burst: The number of permits that may be used at once after a pause.
    public init(_ permits: Double, per period: Duration, burst: Double = 1) {
        self.period = min(max(period, .milliseconds(1)), .seconds(366 * 86_400))
        self.permits = permits > 1e-6 ? min(permits, 1e12) : 1e-6
        self.burst = burst > 1 ? min(burst, 1e12) : 1
        identity = "\(self.permits)/\(self.period.wholeNanoseconds)/\(self.burst)"
    }

    private init(_ rule: QuotaRule, burst: Double, identity: String) {
        permits = rule.permits
        period = rule.period
        self.burst = burst > 1 ? burst : 1
        self.identity = identity
    }

    /// Returns the rule with a smaller burst and the same state.
    public func grantingBurst(times share: Double) -> QuotaRule {
        QuotaRule(self, burst: burst * share, identity: identity)
    }

    /// Returns the rule with a separate state.
    public func identified(by suffix: String) -> QuotaRule {
        QuotaRule(self, burst: burst, identity: identity + suffix)
    }

    /// The nanoseconds between two permits, possibly less than one nanosecond.
    public var nanosecondsPerPermit: Double {
        Double(period.wholeNanoseconds) / permits
    }
}

/// The permits of one key of a ``KeyedLimiter``, such as ``TokenBuckets``.
///
/// The methods run under the lock of the limiter, and have no other effects. Times are nanoseconds
/// of the monotonic clock.
public protocol PermitSource: Sendable {
    /// Takes the permits of a call, if all permits are available.
    mutating func take(_ cost: Int, at now: Int64) -> Bool

    /// Returns the earliest start of a call behind other calls that need `permits` permits.
    func start(of cost: Int, behind permits: Int, at now: Int64) -> Int64

    /// Returns the earliest start of the first call in line, or nil if the start is not known yet.
    func turn(of cost: Int) -> Int64?

    /// Returns permits, or charges a negative number, even before the permits are available.
    mutating func correct(_ permits: Int, at now: Int64)

    /// Lowers the remaining permits of one rule.
    /// - Returns: Whether the caller must notify other users of the same quota.
    mutating func lower(to remaining: Int, rule: Int, at now: Int64) -> Bool

    /// Whether further permits may be available soon, and no call is refused yet; false by default.
    func mayStartSoon(at now: Int64) -> Bool

    /// Whether a request for these permits runs, and the object must be kept; false by default.
    var isInUse: Bool { get }

    /// Whether the limiter must call its ``KeyedLimiter/Attendant``; false by default.
    ///
    /// The reason may be waiting calls, or permits that no call needs. Each call runs this method.
    func wantsAttention(for line: WaitingPermits, at now: Int64) -> Bool
}

extension PermitSource {
    /// Returns false by default.
    public func mayStartSoon(at now: Int64) -> Bool { false }
    /// Returns false by default.
    public var isInUse: Bool { false }
    /// Returns false by default.
    public func wantsAttention(for line: WaitingPermits, at now: Int64) -> Bool { false }
}

/// The number of permits that the waiting calls need.
public struct WaitingPermits: Sendable {
    /// The number of permits for all waiting calls.
    public let all: Int
    /// The number of permits for the first waiting call, or nil if no call waits.
    public let first: Int?
}

/// The kind of waiting calls that are refused after a source has granted no permits.
public enum LineRefusal: Sendable {
    /// The calls beyond the length of the queue, unless they may start soon.
    case excess
    /// The excess calls, and the calls whose deadline passes within this duration.
    case late(Duration, isCooling: Bool)
}

/// The rules of a limit, in nanoseconds.
struct PermitRates: Sendable, Hashable {
    struct Rate: Sendable, Hashable {
        /// The time between two permits, possibly with a fraction.
        let exact: Double
        /// The time between two permits in whole nanoseconds, rounded up.
        let interval: Int64
        /// The maximum number of permits that may be used at once.
        let burst: Int
        /// The time by which a call may start earlier than with even spacing.
        let tolerance: Int64

        init(_ rule: QuotaRule) {
            exact = max(rule.nanosecondsPerPermit, 1e-3)
            interval = max(Int64(nanoseconds: exact.rounded(.up)), 1)
            burst = Int(min(max(rule.burst, 1), 1e12))
            tolerance = Int64(nanoseconds: Double(interval) * Double(burst - 1))
        }

        func time(for permits: Int) -> Int64 {
            permits == 1 ? interval : Int64(nanoseconds: (exact * Double(permits)).rounded(.up))
        }
    }

    let first: Rate
    let others: [Rate]

    /// Creates the rates of rules, which are unlimited without rules.
    init(_ rules: [QuotaRule]) {
        let rates = rules.map { Rate($0) }
        first = rates.first ?? Rate(QuotaRule(1e12, per: .seconds(1), burst: 1e12))
        others = Array(rates.dropFirst())
    }

    var all: [Rate] { [first] + others }

    var interval: Int64 { others.reduce(first.interval) { max($0, $1.interval) } }

    /// Describes the rates in words, as the end of a sentence that begins with "lets".
    ///
    /// `what` is the noun for the started calls, with a leading blank, or an empty text.
    func text(_ what: String) -> String {
        guard others.isEmpty else {
            return "calls start by \(all.count) rules: "
                + all.map { "one every \(Duration.nanoseconds($0.interval).text)" }
                .joined(separator: " and ")
        }
        return "one \(what)start every \(Duration.nanoseconds(first.interval).text)"
    }
}

/// A token bucket for each rule of a limit.
///
/// A call needs permits of every bucket. A bucket stores the time of the next permit for evenly
/// spaced calls (the generic cell rate algorithm, ITU-T I.371). The time is exact to the
/// nanosecond. A call that costs more than the size of a bucket starts when the bucket is full. The
/// calls after this call wait for the missing permits.
public struct TokenBuckets: PermitSource {
    private static let longAgo = Int64.min / 4

    private let rates: PermitRates
    private var due: Int64
    private var others: [Int64]

    init(_ rates: PermitRates) {
        self.rates = rates
        due = Self.longAgo
        others = rates.others.map { _ in Self.longAgo }
    }

    /// Creates empty buckets, and the next permit is available after one interval.
    public init(_ rules: [QuotaRule], emptyAt now: Int64) {
        rates = PermitRates(rules)
        func empty(_ rate: PermitRates.Rate) -> Int64 {
            now.addingSaturating(rate.tolerance).addingSaturating(rate.interval)
        }
        due = empty(rates.first)
        others = rates.others.map { empty($0) }
    }

    /// Takes the permits of a call, if all permits are available.
    public mutating func take(_ cost: Int, at now: Int64) -> Bool {
        guard Self.start(due, rates.first, cost) <= now else { return false }
        for index in others.indices
        where Self.start(others[index], rates.others[index], cost) > now { return false }
        charge(cost, at: now)
        return true
    }

    /// Returns the earliest start of a call behind other calls that need `permits` permits.
    public func start(of cost: Int, behind permits: Int, at now: Int64) -> Int64 {
        max(start(of: cost, behind: permits), now)
    }

    /// Returns the earliest start of the first call in line.
    public func turn(of cost: Int) -> Int64? { start(of: cost, behind: 0) }

    /// Returns permits, or charges a negative number, even before the permits are available.
    public mutating func correct(_ permits: Int, at now: Int64) {
        if permits > 0 { giveBack(permits) } else { charge(-permits, at: now) }
    }

    /// Lowers the remaining permits of one rule.
    /// - Returns: False, because the quota has no other users.
    @discardableResult
    public mutating func lower(to remaining: Int, rule: Int, at now: Int64) -> Bool {
        guard let rate = rule == 0 ? rates.first : rates.others.element(at: rule - 1) else {
            return false
        }
        let missing = Int64(
            nanoseconds: (Double(rate.burst) - max(Double(remaining), 0)) * rate.exact)
        let lowered = now.addingSaturating(max(missing, 0))
        if rule == 0 {
            due = max(due, lowered)
        } else {
            others[rule - 1] = max(others[rule - 1], lowered)
        }
        return false
    }

    private func start(of cost: Int, behind permits: Int) -> Int64 {
        var start = Self.start(due, rates.first, cost)
            .addingSaturating(permits == 0 ? 0 : rates.first.time(for: permits))
        for (due, rate) in zip(others, rates.others) {
            let other = Self.start(due, rate, cost)
                .addingSaturating(permits == 0 ? 0 : rate.time(for: permits))
            start = max(start, other)
        }
        return start
    }

    private mutating func charge(_ permits: Int, at now: Int64) {
        due = max(due, now).addingSaturating(rates.first.time(for: permits))
        for index in others.indices {
            others[index] = max(others[index], now)
                .addingSaturating(rates.others[index].time(for: permits))
        }
    }

    private mutating func giveBack(_ permits: Int) {
        due = max(due - rates.first.time(for: permits), Self.longAgo)
        for index in others.indices {
            others[index] = max(
                others[index] - rates.others[index].time(for: permits), Self.longAgo)
        }
    }

    private static func start(_ due: Int64, _ rate: PermitRates.Rate, _ cost: Int) -> Int64 {
        let start = due - rate.tolerance
        if cost == 1 { return start }
        let more = min(cost, rate.burst) - 1
        return more > 0 ? start.addingSaturating(rate.time(for: more)) : start
    }
}

extension Array {
    fileprivate func element(at index: Int) -> Element? {
        indices.contains(index) ? self[index] : nil
    }
}
