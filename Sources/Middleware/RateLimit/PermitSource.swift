// SPDX-License-Identifier: Apache-2.0

/// The permits of one key of a ``KeyedLimiter``: ``TokenBuckets``, or permits that come from elsewhere.
///
/// It decides, under the lock of the limiter, and does nothing else. Moments are nanoseconds of the
/// monotonic clock.
public protocol PermitSource: Sendable {
    /// Takes the permits of a call, if all of them are there.
    mutating func take(_ cost: Int, at now: Int64) -> Bool

    /// The earliest moment at which a call may start behind others that need a number of permits.
    func start(of cost: Int, behind permits: Int, at now: Int64) -> Int64

    /// When the first call in line may start; nil if that is not known yet.
    func turn(of cost: Int) -> Int64?

    /// Gives permits back; a negative number charges permits, which may not be there yet.
    mutating func correct(_ permits: Int, at now: Int64)

    /// Lowers what is left under one rule.
    /// - Returns: Whether others with the same quota are to be told.
    mutating func lower(to remaining: Int, rule: Int, at now: Int64) -> Bool

    /// Whether a call may only have to wait for news of permits, so that a full line and a deadline
    /// do not refuse it yet; false by default.
    func mayStartSoon(at now: Int64) -> Bool

    /// Whether somebody is at work for these permits, so that they must not be dropped; false by
    /// default.
    var isInUse: Bool { get }

    /// Whether who provides permits has something to do for the calls in line, or for the permits that
    /// none of them needs; false by default.
    ///
    /// It is asked on the path of each call.
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
    /// Those of all calls.
    public let all: Int
    /// Those of the first call; nil if none waits.
    public let first: Int?
}

/// Which calls in line are refused, because the news for which they waited is bad.
public enum LineRefusal: Sendable {
    /// Those beyond the length of the line, unless they may start soon.
    case excess
    /// Those too, and those whose deadline ends before permits come.
    case late(Duration, isCooling: Bool)
}
