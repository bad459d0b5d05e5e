// SPDX-License-Identifier: Apache-2.0

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
