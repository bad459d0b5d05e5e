// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Stores the time until which an origin gets no requests after a 429 or 503 with `Retry-After`.
///
/// ``Retry`` and the limits of `TurnpikeTraffic` start cool-downs, and wait until cool-downs end.
///
/// ```swift
/// let cooldowns = Cooldowns()
/// let client = Client(stack: [.retry(cooldowns: cooldowns), .rateLimit(perSecond: 50, cooldowns: cooldowns)])
/// ```
///
/// During a cool-down, a rate limit queues the calls to the origin. If the deadline of a call is
/// before the end of the cool-down, the call fails at once. A retry waits at least until the
/// cool-down ends. If the limit is inside the retry gate, pass the object only to the limit. If the
/// retry gate is inside the limit, pass the same object to both gates.
///
/// With a ``CooldownSharing``, each replica reports its cool-downs to the other replicas. While
/// other replicas do not answer, a replica knows only its own cool-downs.
public final class Cooldowns: Sendable {
    private struct Entry: BoundedMapEntry {
        var until = MonotonicInstant(nanoseconds: .min)
        var isInUse: Bool { false }
    }

    /// The longest cool-down; a longer `Retry-After` is shortened to this time.
    public let longest: Duration

    private let sharing: (any CooldownSharing)?
    private let key: (@Sendable (Request) -> String?)?
    private let entries = Mutex(BoundedMap<QuotaKey, Entry>())
    // The end of the last cool-down; after this time, a call needs no look-up.
    private let end = Atomic<Int64>(.min)

    /// Creates cool-downs.
    /// - Parameters:
    ///   - sharing: Reports the cool-downs to other replicas; if nil, nothing is reported.
    ///   - longest: The longest cool-down; a longer `Retry-After` is shortened to this time.
    ///   - key: Returns the part of the origin that a cool-down applies to, such as the name
    ///     of an account. Pass the same function to the `key(_:)` of a limit. ``Retry`` uses this
    ///     key, but a limit uses its own function.
    public init(
        sharing: (any CooldownSharing)? = nil, longest: Duration = .seconds(300),
        key: (@Sendable (Request) -> String?)? = nil
    ) {
        self.sharing = sharing
        self.longest = min(max(longest, .zero), .seconds(86_400))
        self.key = key
    }

    var sharedUse: GateEffect? { sharing?.effect }

    /// The key for the cool-down of a request, or nil if URLs of this scheme have no origin.
    func key(of request: Request) -> QuotaKey? {
        request.origin.map { QuotaKey(origin: $0, part: key?(request)) }
    }

    /// The end of a cool-down, or nil if this replica knows of no cool-down.
    public func end(of key: QuotaKey, at now: MonotonicInstant) -> MonotonicInstant? {
        guard now.nanoseconds < end.load(ordering: .relaxed) else { return nil }
        return entries.withLock { $0[key] }.flatMap { now < $0.until ? $0.until : nil }
    }

    /// The figures of the current cool-downs, which the gate shows.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        entries.withLock { entries in
            entries.compactMap { key, entry in
                guard now < entry.until else { return nil }
                // The part of a key may be a secret and is therefore left out.
                return LiveFigure(
                    "cool-down of \(key.origin?.description ?? "all")",
                    "\(now.duration(to: entry.until).text) left", isTrouble: true)
            }
        }
    }

    /// Begins a cool-down if a response has `Retry-After`, and reports the cool-down to replicas.
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

    /// Begins a cool-down, and reports the cool-down to the other replicas.
    public func begin(_ wish: Duration, for key: QuotaKey, gate: String, in context: Context) {
        let duration = min(wish, longest)
        guard learn(duration, for: key, at: context.timeSource.now) else { return }
        context.report(
            "nothing is sent to \(key) for \(duration.text), because it asks for a wait", by: gate)
        sharing?.tell(of: duration, for: key, gate: gate, in: context)
    }

    /// Stores a cool-down that another replica has reported.
    /// - Returns: Whether the reported cool-down ends later than the known cool-down.
    @discardableResult
    public func learn(_ duration: Duration, for key: QuotaKey, at now: MonotonicInstant) -> Bool {
        guard duration > .zero else { return false }
        let until = now.advanced(by: min(duration, longest))
        let isNews = entries.withLock { entries in
            entries.update(key, orMake: Entry()) { entry in
                // If two gates see the same response, only one of the gates begins a cool-down.
                let isNews = entry.until.advanced(by: .milliseconds(100)) < until
                entry.until = max(entry.until, until)
                return isNews
            }
        }
        end.max(until.nanoseconds, ordering: .relaxed)
        return isNews
    }

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

/// Reports cool-downs to other replicas, and requests cool-downs from other replicas.
public protocol CooldownSharing: Sendable {
    /// The effect of a gate that sends one request to other replicas for each attempt.
    var effect: GateEffect { get }

    /// Reports a cool-down to the other replicas, and returns immediately.
    func tell(of duration: Duration, for key: QuotaKey, gate: String, in context: Context)

    /// The time left of a cool-down, or nil if no cool-down is known.
    func timeLeft(of key: QuotaKey, gate: String, in context: Context) async -> Duration?
}

/// The origin to which a quota or a cool-down applies, and perhaps an account of that origin.
public struct QuotaKey: Hashable, Sendable, CustomStringConvertible {
    /// The origin, or nil for all origins together.
    public let origin: Origin?
    /// The part of the origin, such as an account.
    public let part: String?

    /// Creates a key.
    public init(origin: Origin?, part: String? = nil) {
        self.origin = origin
        self.part = part
    }

    /// The key as text of any length, under which a store keeps the quota.
    public var text: String { text(part) }

    /// The origin and the part, with a part of at most 64 characters.
    public var description: String {
        text(part.map { $0.count > 64 ? "\($0.prefix(64))…" : $0 })
    }

    private func text(_ part: String?) -> String {
        let name = origin?.description ?? "all origins"
        return part.map { "\(name) (\($0))" } ?? name
    }
}
