// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// The times until which nothing is sent to origins that answered 429 or 503 with `Retry-After`.
///
/// ``Retry`` and the limits of `TurnpikeTraffic` begin cool-downs and honour them.
///
/// ```swift
/// let cooldowns = Cooldowns()
/// let client = Client(stack: [.retry(cooldowns: cooldowns), .rateLimit(perSecond: 50, cooldowns: cooldowns)])
/// ```
///
/// A rate limit keeps calls in its line while a cool-down lasts. A call whose deadline comes before
/// the end of the cool-down fails at once. A retry waits at least until the cool-down ends. If the
/// limit is inside the retry, only the limit needs the object: each attempt passes the limit. If
/// the limit is outside, pass the same object to limit and retry.
///
/// With a ``CooldownSharing``, a replica that must wait 30 seconds tells the other replicas. While
/// those replicas do not answer, each replica knows only the cool-downs that it has seen itself.
public final class Cooldowns: Sendable {
    private struct Entry: BoundedMapEntry {
        var until = MonotonicInstant(nanoseconds: .min)
        var isInUse: Bool { false }
    }

    /// The longest cool-down; longer wishes of servers are cut.
    public let longest: Duration

    private let sharing: (any CooldownSharing)?
    private let key: (@Sendable (Request) -> String?)?
    private let entries = Mutex(BoundedMap<QuotaKey, Entry>())
    // The end of the last cool-down, so that calls need no look-up if there is none.
    private let end = Atomic<Int64>(.min)

    /// Creates cool-downs.
    /// - Parameters:
    ///   - sharing: Reports the cool-downs to other replicas; nil keeps them in this process.
    ///   - longest: The longest cool-down; longer wishes of servers are cut.
    ///   - key: Returns the part of the origin that a cool-down is for, such as the name of an
    ///     account. Pass the function that a limit gets by `key(_:)`. ``Retry`` uses this key; a
    ///     limit uses its own function.
    public init(
        sharing: (any CooldownSharing)? = nil, longest: Duration = .seconds(300),
        key: (@Sendable (Request) -> String?)? = nil
    ) {
        self.sharing = sharing
        self.longest = min(max(longest, .zero), .seconds(86_400))
        self.key = key
    }

    /// The effect of a gate that asks other replicas once in a pass; nil without other replicas.
    var sharedUse: GateEffect? { sharing?.effect }

    /// The key of the cool-down of a request; nil if the scheme has no origins.
    func key(of request: Request) -> QuotaKey? {
        request.origin.map { QuotaKey(origin: $0, part: key?(request)) }
    }

    /// The end of a cool-down, if this replica knows one; otherwise nil.
    public func end(of key: QuotaKey, at now: MonotonicInstant) -> MonotonicInstant? {
        guard now.nanoseconds < end.load(ordering: .relaxed) else { return nil }
        return entries.withLock { $0[key] }.flatMap { now < $0.until ? $0.until : nil }
    }

    /// The cool-downs that last, for the live figures of a gate.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        entries.withLock { entries in
            entries.compactMap { key, entry in
                guard now < entry.until else { return nil }
                // The part of a key may be a secret.
                return LiveFigure(
                    "cool-down of \(key.origin?.description ?? "all")",
                    "\(now.duration(to: entry.until).text) left", isTrouble: true)
            }
        }
    }

    /// Begins a cool-down if a response asks for one, and reports it to the other replicas.
    public func note(
        _ head: ResponseHead, for key: QuotaKey, gate: @autoclosure () -> String,
        in context: Context
    ) {
        guard head.status == .tooManyRequests || head.status == .serviceUnavailable,
            !head.isStored,
            let wish = head.headers.retryAfter(at: context.timeSource.date)
        else { return }
        begin(wish, for: key, gate: gate(), in: context)
    }

    /// Begins a cool-down, and reports it to the other replicas.
    public func begin(_ wish: Duration, for key: QuotaKey, gate: String, in context: Context) {
        let duration = min(wish, longest)
        guard learn(duration, for: key, at: context.timeSource.now) else { return }
        context.report(
            "nothing is sent to \(key) for \(duration.text), because it asks for a wait", by: gate)
        sharing?.tell(of: duration, for: key, gate: gate, in: context)
    }

    /// Notes a cool-down that another replica has reported.
    /// - Returns: Whether the reported cool-down ends later than the known cool-down.
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

    /// The time left of a cool-down: the time of other replicas or, if it is unknown, of this one.
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

/// Reports cool-downs to other replicas, and asks for the cool-downs of other replicas.
public protocol CooldownSharing: Sendable {
    /// The effect of a gate that asks once in a pass.
    var effect: GateEffect { get }

    /// Reports a cool-down to the other replicas, without a wait.
    func tell(of duration: Duration, for key: QuotaKey, gate: String, in context: Context)

    /// The time left of a cool-down; nil if there is no cool-down, or if it is unknown.
    func timeLeft(of key: QuotaKey, gate: String, in context: Context) async -> Duration?
}

/// The owner of a quota or of a cool-down: an origin, and perhaps an account of that origin.
public struct QuotaKey: Hashable, Sendable, CustomStringConvertible {
    /// The origin; nil for all origins together.
    public let origin: Origin?
    /// The part of the origin, such as an account.
    public let part: String?

    /// Creates a key.
    public init(origin: Origin?, part: String? = nil) {
        self.origin = origin
        self.part = part
    }

    /// The whole key as text, however long; a store keeps the quota under it.
    public var text: String { text(part) }

    /// The origin and the part, for people; a long part is cut.
    public var description: String {
        text(part.map { $0.count > 64 ? "\($0.prefix(64))…" : $0 })
    }

    private func text(_ part: String?) -> String {
        let name = origin?.description ?? "all origins"
        return part.map { "\(name) (\($0))" } ?? name
    }
}
