// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// One limit of a quota: how many permits come in a period.
///
/// Permits come evenly, and up to ``burst`` of them are kept for later (the generic cell rate
/// algorithm, ITU-T I.371). In a time `t`, calls get at most `burst + t · permits / period`.
public struct QuotaRule: Sendable, Hashable {
    /// How many permits come in a period.
    public let permits: Double
    /// The period.
    public let period: Duration
    /// How many permits may go at once after a pause; at least 1.
    public let burst: Double
    /// A text that identifies the state of the rule in a store, besides the key of the quota:
    /// number, period, burst, and a suffix that distinguishes the limits.
    ///
    /// Rules with the same identity have the same state, at any position in a list.
    public let identity: String

    /// Creates a rule.
    ///
    /// An invalid value becomes the nearest valid value.
    /// - Parameters:
    ///   - permits: How many permits come in a period; fractions are allowed.
    ///   - period: The period.
    ///   - burst: How many permits may go at once after a pause.
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

    /// The same rule with a smaller burst, which continues with the state of this rule.
    public func grantingBurst(times share: Double) -> QuotaRule {
        QuotaRule(self, burst: burst * share, identity: identity)
    }

    /// The same rule with a separate state.
    public func identified(by suffix: String) -> QuotaRule {
        QuotaRule(self, burst: burst, identity: identity + suffix)
    }

    /// The time between two permits; it may be shorter than a nanosecond, so it is in nanoseconds.
    public var nanosecondsPerPermit: Double {
        Double(period.wholeNanoseconds) / permits
    }
}

/// The permits of one key of a ``KeyedLimiter``: ``TokenBuckets``, or permits that come from elsewhere.
///
/// It only decides, under the lock of the limiter. Moments are nanoseconds of the
/// monotonic clock.
public protocol PermitSource: Sendable {
    /// Takes the permits of a call, if all of them are available.
    mutating func take(_ cost: Int, at now: Int64) -> Bool

    /// The earliest start of a call behind other calls that need `permits` permits.
    func start(of cost: Int, behind permits: Int, at now: Int64) -> Int64

    /// The time at which the first call in line may start; nil if it is not known yet.
    func turn(of cost: Int) -> Int64?

    /// Gives permits back; a negative number charges permits, even before they are available.
    mutating func correct(_ permits: Int, at now: Int64)

    /// Lowers the permits left under one rule.
    /// - Returns: Whether other users of the same quota must be notified.
    mutating func lower(to remaining: Int, rule: Int, at now: Int64) -> Bool

    /// Whether news of permits may come soon, so that neither a full line nor a deadline refuses a
    /// call yet; false by default.
    func mayStartSoon(at now: Int64) -> Bool

    /// Whether work on these permits is under way, so that they must stay; false by default.
    var isInUse: Bool { get }

    /// Whether the provider of permits must act for the calls in line, or for permits that no call
    /// needs; false by default.
    ///
    /// The method is called on the path of each call.
    func wantsAttention(for line: WaitingPermits, at now: Int64) -> Bool
}

extension PermitSource {
    /// False.
    public func mayStartSoon(at now: Int64) -> Bool { false }
    /// False.
    public var isInUse: Bool { false }
    /// False.
    public func wantsAttention(for line: WaitingPermits, at now: Int64) -> Bool { false }
}

/// How many permits the calls in line need.
public struct WaitingPermits: Sendable {
    /// The permits of all calls.
    public let all: Int
    /// The permits of the first call; nil if no call waits.
    public let first: Int?
}

/// The calls in line that are refused after a source has granted no permits.
public enum LineRefusal: Sendable {
    /// Calls beyond the length of the line, unless they may start soon.
    case excess
    /// The calls in excess, and also calls whose deadline comes before their permits.
    case late(Duration, isCooling: Bool)
}

/// The rules of a limit, in nanoseconds.
struct PermitRates: Sendable, Hashable {
    struct Rate: Sendable, Hashable {
        /// The time between two permits, which may be a fraction.
        let exact: Double
        /// The same time in whole nanoseconds, rounded up.
        let interval: Int64
        /// The most permits that may be used at once.
        let burst: Int
        /// How much earlier calls may come than evenly spaced calls.
        let tolerance: Int64

        init(_ rule: QuotaRule) {
            exact = max(rule.nanosecondsPerPermit, 1e-3)
            interval = max(Int64(nanoseconds: exact.rounded(.up)), 1)
            burst = Int(min(max(rule.burst, 1), 1e12))
            tolerance = Int64(nanoseconds: Double(interval) * Double(burst - 1))
        }

        /// The time in which a number of permits comes.
        func time(for permits: Int) -> Int64 {
            permits == 1 ? interval : Int64(nanoseconds: (exact * Double(permits)).rounded(.up))
        }
    }

    let first: Rate
    let others: [Rate]

    /// Creates the rates of rules; without rules, a rate that lets every call pass.
    init(_ rules: [QuotaRule]) {
        let rates = rules.map { Rate($0) }
        first = rates.first ?? Rate(QuotaRule(1e12, per: .seconds(1), burst: 1e12))
        others = Array(rates.dropFirst())
    }

    /// The rates of all rules.
    var all: [Rate] { [first] + others }

    /// The longest time between two permits.
    var interval: Int64 { others.reduce(first.interval) { max($0, $1.interval) } }

    /// The rates in words: the end of a sentence that begins with "lets".
    /// - Parameter what: What starts, with a blank; empty if that is clear.
    /// - Returns: The end of the sentence.
    func text(_ what: String) -> String {
        guard others.isEmpty else {
            return "calls start by \(all.count) rules: "
                + all.map { "one every \(Duration.nanoseconds($0.interval).text)" }
                .joined(separator: " and ")
        }
        return "one \(what)start every \(Duration.nanoseconds(first.interval).text)"
    }
}

/// A bucket for each rule of a limit; a call needs permits of all buckets.
///
/// A bucket stores the time, exact to the nanosecond, at which the next permit is due if calls come
/// evenly (the generic cell rate algorithm, ITU-T I.371). A call that costs more than a bucket
/// holds starts when the bucket is full. The calls behind it wait until the rest of its permits has
/// come.
public struct TokenBuckets: PermitSource {
    private static let longAgo = Int64.min / 4

    private let rates: PermitRates
    private var due: Int64
    private var others: [Int64]

    /// Creates full buckets.
    init(_ rates: PermitRates) {
        self.rates = rates
        due = Self.longAgo
        others = rates.others.map { _ in Self.longAgo }
    }

    /// Creates empty buckets: the next permit comes after one interval.
    public init(_ rules: [QuotaRule], emptyAt now: Int64) {
        rates = PermitRates(rules)
        func empty(_ rate: PermitRates.Rate) -> Int64 {
            now.addingSaturating(rate.tolerance).addingSaturating(rate.interval)
        }
        due = empty(rates.first)
        others = rates.others.map { empty($0) }
    }

    /// Takes the permits of a call, if all of them are available.
    public mutating func take(_ cost: Int, at now: Int64) -> Bool {
        guard Self.start(due, rates.first, cost) <= now else { return false }
        for index in others.indices
        where Self.start(others[index], rates.others[index], cost) > now { return false }
        charge(cost, at: now)
        return true
    }

    /// The earliest start of a call behind other calls that need `permits` permits.
    public func start(of cost: Int, behind permits: Int, at now: Int64) -> Int64 {
        max(start(of: cost, behind: permits), now)
    }

    /// When the first call in line may start.
    public func turn(of cost: Int) -> Int64? { start(of: cost, behind: 0) }

    /// Gives permits back; a negative number charges permits, even before they are available.
    public mutating func correct(_ permits: Int, at now: Int64) {
        if permits > 0 { giveBack(permits) } else { charge(-permits, at: now) }
    }

    /// Lowers the permits left under one rule.
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

    // When the permits of a call are available.
    private static func start(_ due: Int64, _ rate: PermitRates.Rate, _ cost: Int) -> Int64 {
        let start = due - rate.tolerance
        if cost == 1 { return start }
        let more = min(cost, rate.burst) - 1
        return more > 0 ? start.addingSaturating(rate.time(for: more)) : start
    }
}

extension Int64 {
    /// A number of nanoseconds, clamped to a quarter of the range.
    init(nanoseconds: Double) {
        self = nanoseconds < 2e18 ? (nanoseconds > -2e18 ? Int64(nanoseconds) : .min / 4) : .max / 4
    }

    /// The sum, clamped to half of the range.
    func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        if overflow { return other > 0 ? .max / 2 : .min / 2 }
        return Swift.min(Swift.max(sum, .min / 2), .max / 2)
    }
}

extension Array {
    fileprivate func element(at index: Int) -> Element? {
        indices.contains(index) ? self[index] : nil
    }
}
