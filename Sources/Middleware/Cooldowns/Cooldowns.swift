// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Until when nothing is sent to an origin, because it answered 429 or 503 with `Retry-After`.
///
/// ``RateLimit`` and ``Retry`` begin cool-downs and honour them.
///
/// ```swift
/// let cooldowns = Cooldowns()
/// let client = Client(stack: [.retry(cooldowns: cooldowns), .rateLimit(perSecond: 50, cooldowns: cooldowns)])
/// ```
///
/// A limit holds calls in its line while a cool-down lasts. A call whose deadline ends before that
/// fails at once. A retry waits at least as long as the cool-down lasts. If the limit stands inside
/// the retry, the retry needs none: each attempt passes the limit. Give the same object to both
/// otherwise.
///
/// With a ``CooldownSharing``, one replica that is told to wait 30 seconds tells the others. Without
/// an answer from there, each replica knows the cool-downs that it has seen itself.
public final class Cooldowns: Sendable {
    private struct Entry: BoundedMapEntry {
        var until = MonotonicInstant(nanoseconds: .min)
        var isInUse: Bool { false }
    }

    /// The longest cool-down; what a server asks for beyond that is cut.
    public let longest: Duration

    private let sharing: (any CooldownSharing)?
    private let key: (@Sendable (Request) -> String?)?
    private let entries = Mutex(BoundedMap<QuotaKey, Entry>())
    // The end of the last cool-down, so that calls need no look-up if there is none.
    private let end = Atomic<Int64>(.min)

    /// Creates cool-downs.
    /// - Parameters:
    ///   - sharing: Tells other replicas of them; nil keeps them in this process.
    ///   - longest: The longest cool-down; what a server asks for beyond that is cut.
    ///   - key: Whose cool-down a request falls under besides its origin, such as the name of an
    ///     account: the same function as ``RateLimiting/key(_:)``. Used by ``Retry``; a limit uses its
    ///     own.
    public init(
        sharing: (any CooldownSharing)? = nil, longest: Duration = .seconds(300),
        key: (@Sendable (Request) -> String?)? = nil
    ) {
        self.sharing = sharing
        self.longest = min(max(longest, .zero), .seconds(86_400))
        self.key = key
    }

    /// What a gate states that asks other replicas once in a pass; nil if there are none.
    var sharedUse: GateEffect? { sharing?.effect }

    /// What a request falls under; nil if its scheme has no origins.
    func key(of request: Request) -> QuotaKey? {
        request.origin.map { QuotaKey(origin: $0, part: key?(request)) }
    }

    /// When a cool-down ends, as far as this replica knows; nil if there is none.
    public func end(of key: QuotaKey, at now: MonotonicInstant) -> MonotonicInstant? {
        guard now.nanoseconds < end.load(ordering: .relaxed) else { return nil }
        return entries.withLock { $0[key] }.flatMap { now < $0.until ? $0.until : nil }
    }

    /// Begins a cool-down if a response asks for one, and tells the other replicas of it.
    func note(
        _ head: ResponseHead, for key: QuotaKey, gate: @autoclosure () -> String,
        in context: Context
    ) {
        guard head.status == .tooManyRequests || head.status == .serviceUnavailable,
            !head.isStored,
            let wish = head.headers.retryAfter(at: context.timeSource.date)
        else { return }
        begin(wish, for: key, gate: gate(), in: context)
    }

    /// Begins a cool-down, and tells the other replicas of it.
    func begin(_ wish: Duration, for key: QuotaKey, gate: String, in context: Context) {
        let duration = min(wish, longest)
        guard learn(duration, for: key, at: context.timeSource.now) else { return }
        context.report(
            "nothing is sent to \(key) for \(duration.text), as it has asked for", by: gate)
        sharing?.tell(of: duration, for: key, gate: gate, in: context)
    }

    /// Notes a cool-down of which another replica has told.
    /// - Returns: Whether it ends later than what was known.
    @discardableResult
    public func learn(_ duration: Duration, for key: QuotaKey, at now: MonotonicInstant) -> Bool {
        guard duration > .zero else { return false }
        let until = now.advanced(by: min(duration, longest))
        let isNews = entries.withLock { entries in
            entries.update(key, orMake: Entry()) { entry in
                // Two gates that see the same response begin one cool-down.
                let isNews = entry.until.advanced(by: .milliseconds(100)) < until
                entry.until = max(entry.until, until)
                return isNews
            }
        }
        end.max(until.nanoseconds, ordering: .relaxed)
        return isNews
    }

    /// What is left of a cool-down, as other replicas know it, or else this one.
    func timeLeft(
        of key: QuotaKey, gate: String, in context: Context
    ) async -> Duration? {
        if let left = await sharing?.timeLeft(of: key, gate: gate, in: context) {
            learn(left, for: key, at: context.timeSource.now)
        }
        let now = context.timeSource.now
        return end(of: key, at: now).map { now.duration(to: $0) }
    }
}

/// Tells other replicas of cool-downs, and asks for theirs.
public protocol CooldownSharing: Sendable {
    /// What a gate states that asks once in a pass.
    var effect: GateEffect { get }

    /// Tells the others of a cool-down; nobody waits for it.
    func tell(of duration: Duration, for key: QuotaKey, gate: String, in context: Context)

    /// What is left of a cool-down; nil if there is none, or if that is not known.
    func timeLeft(of key: QuotaKey, gate: String, in context: Context) async -> Duration?
}
