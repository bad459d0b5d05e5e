// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport
public import TurnpikeTraffic

/// Stores quotas, cool-downs, tokens and locks that the replicas of a service share.
///
/// A store decides atomically, and only by the clock of the store's server. A store does not apply
/// HTTP rules. ``SharedState`` calls the store for gates, and limits the time of each operation. If
/// the store does not answer, a gate decides locally. A store therefore throws an error for each
/// fault, and does not repeat an operation.
///
/// Each operation must end within seconds, and soon after a cancellation. An operation may still
/// take effect after a cancellation.
///
/// ``MemorySharedStore`` is a store for tests. `SharedStoreConformance` of `TurnpikeTesting` checks
/// other stores.
///
/// ### Quotas
///
/// The state of a rule is one number: the theoretical arrival time (TAT) of the generic cell rate
/// algorithm (ITU-T I.371). TAT is the time at which all permits of the quota are back. Below, `i`
/// is the interval of the rule, `b` is the burst of the rule, and `now` is the time of the store's
/// clock:
///
/// - The permit number `k` of a request, from 0, is due at `max(TAT, now) + k·i - (b - 1)·i`. A
///   request with several rules waits for the latest of these times.
/// - If the first permit of any rule is due later than `now + reach`, no permit is taken.
/// - If not, all permits that are due until `now + reach` are taken, but at least
///   ``QuotaRequest/minimum`` and at most ``QuotaRequest/maximum``. TAT becomes `max(TAT, now) +
///   n·i` for each rule.
/// - During a cool-down of the same key (``coolDown(for:_:)``), no permit is taken.
///
/// A request with a small `reach` takes no permit that other requests have reserved further ahead.
/// The store keeps the time of the last change beside TAT. If the store's clock has gone back, for
/// example after a failover to a slower clock, the store moves TAT back by the difference.
///
/// The state belongs to the key of the quota and the ``/TurnpikeTraffic/QuotaRule/identity`` of the
/// rule, not to the rule's index. A rule with another period, number or burst is a different rule,
/// and starts with all permits. The state of the old rule expires when all permits of the old rule
/// are back.
///
/// ### Locks
///
/// A lock does not prevent two simultaneous owners, because the first owner may be paused until the
/// lock has ended. The store refuses a later write of the first owner because of the fencing
/// number, which grows with each lock of a key and is never reused (Kleppmann, "How to do
/// distributed locking", 2016).
public protocol SharedStore: Sendable {
    /// Whether the traffic to the store is encrypted or local, by default unknown (nil).
    var hidesTraffic: Bool? { get }

    /// Closes the connections and files of the store.
    ///
    /// The client of a stack file with a store calls this method after the last call. Code that
    /// creates a store must close the store. The default implementation does nothing.
    func shutdown() async

    // MARK: Quotas

    /// Takes permits for a request, or takes no permits.
    func take(_ request: QuotaRequest) async throws -> QuotaAnswer

    /// Changes the number of remaining permits, without a decision.
    /// - Parameters:
    ///   - permits: The number of unused permits to return. A negative number charges permits, for
    ///     a call that cost more than expected. A charge moves TAT at most two bursts and one
    ///     period ahead, because a wrong cost must not stop all calls forever.
    ///   - key: The key of the quota.
    ///   - rules: The rules of the quota. A return never exceeds the burst of a rule.
    /// - Throws: An error if the store does not answer.
    func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws

    /// Lowers the remaining permits of one rule, after a report of the quota's server.
    ///
    /// If fewer permits remain already, nothing changes.
    /// - Parameters:
    ///   - remaining: The highest number of permits that remain.
    ///   - key: The key of the quota.
    ///   - rule: The index of the rule.
    ///   - rules: The rules of the quota.
    /// - Throws: An error if the store does not answer.
    func lower(
        to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]
    ) async throws

    // MARK: Cool-downs

    /// Begins or prolongs a cool-down, but never shortens a cool-down.
    /// - Parameters:
    ///   - duration: The time from now to the end of the cool-down.
    ///   - key: The key of the quota, such as an origin or a tenant's account at an origin.
    /// - Throws: Any error, if the store does not answer.
    func coolDown(for duration: Duration, _ key: String) async throws

    /// Returns the remaining time of a cool-down, or nil without a cool-down.
    func cooldown(of key: String) async throws -> Duration?

    // MARK: Tokens

    /// Returns the content under a key, or nil without content.
    func token(_ key: String) async throws -> StoredToken?

    /// Replaces the content under a key, unless the fencing number of the content is higher.
    /// - Parameters:
    ///   - token: The content, and the fencing number of the lock under which the content was
    ///     created (``SharedLock/fence``).
    ///   - key: The key.
    ///   - lifetime: The time after which the content is removed, or nil for no removal.
    /// - Returns: Whether `token` was stored. If not, a later lock owner has stored another token.
    /// - Throws: Any error, if the store does not answer.
    func store(_ token: StoredToken, _ key: String, for lifetime: Duration?) async throws -> Bool

    // MARK: Locks

    /// Takes a lock.
    /// - Parameters:
    ///   - key: The name of the lock.
    ///   - duration: The time after which the lock ends by itself.
    /// - Returns: The lock, or the longest time for which another owner still holds the lock.
    /// - Throws: Any error, if the store does not answer.
    func lock(_ key: String, for duration: Duration) async throws -> LockAnswer

    /// Ends a lock that has not ended already.
    func unlock(_ lock: SharedLock) async throws

    // MARK: Replicas

    /// Reports that a replica is running, and counts the replicas that have reported.
    /// - Parameters:
    ///   - replica: The unique name of the replica.
    ///   - group: The service of the replicas.
    ///   - lifetime: The time for which this replica counts without a further report.
    /// - Returns: The number of replicas, including this replica.
    /// - Throws: Any error, if the store does not answer.
    func beat(_ replica: String, of group: String, for lifetime: Duration) async throws -> Int
}

extension SharedStore {
    /// Returns nil, for unknown.
    public var hidesTraffic: Bool? { nil }
    /// Does nothing.
    public func shutdown() async {}
}

/// A secret that a ``SharedStore`` keeps under one key.
public struct StoredToken: Sendable, Hashable {
    /// The content, in the format of the code that stored the content.
    public var content: Data
    /// The fencing number of the lock under which the content was created.
    ///
    /// Later locks have higher numbers.
    public var fence: UInt64

    /// Creates a token from content and a fencing number.
    public init(_ content: Data, fence: UInt64) {
        self.content = content
        self.fence = fence
    }
}

extension StoredToken: CustomStringConvertible {
    /// The size of the content and the fencing number, without the secret.
    public var description: String { "\(content.count) bytes, fence \(fence)" }
}

/// The answer of a ``SharedStore`` to a request for a lock.
public enum LockAnswer: Sendable, Hashable {
    /// The lock was taken.
    case taken(SharedLock)
    /// Another owner holds the lock, at most for this time.
    case held(atMost: Duration)
}

/// A lock that was taken.
public struct SharedLock: Sendable, Hashable {
    /// The name of the lock.
    public let key: String
    /// The fencing number, which is higher than the number of each earlier lock of the key.
    public let fence: UInt64

    /// Creates a lock, as the result of a store.
    public init(key: String, fence: UInt64) {
        self.key = key
        self.fence = fence
    }
}
