// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCache
public import TurnpikeCore
import TurnpikeSharedState
import TurnpikeSupport
public import TurnpikeValkey

/// Stores responses on a Valkey or Redis server for all replicas of a service.
///
/// ```swift
/// let server = try ValkeyServer(url: "redis://cache.internal:6379/0")
/// let store = TieredStore(MemoryStore(), ValkeyStore(server))
/// let cache = Cache(store, partition: "catalog as deploy-bot")
/// ```
///
/// A hit costs one command. If a server is slow, unreachable, full or read-only, a look-up is a
/// miss. ``Options/timeLimit`` limits each operation of a call. After several failures in a row,
/// the store sends no command for some time (``/TurnpikeSharedState/StoreCircuit``). The server
/// removes entries by time.
///
/// A person who can read the server's keys can read the stored responses, including responses for
/// single users. A person who can write these keys can change the responses that callers get.
/// <doc:TurnpikeValkeyCache> describes access, the form of the entries, and the guarantees while
/// the server is unreachable.
public final class ValkeyStore: CacheStore {
    let server: ValkeyServer
    let options: Options
    let timeSource: any TimeSource
    let state = Mutex(StoreState())
    // A name that distinguishes this store from the stores of other replicas.
    let replica = Data(UUID().uuidString.utf8)

    /// The maximum number of variants of one key.
    ///
    /// If there are more variants, the server removes the oldest variant.
    static let maxVariants = 16
    static let managementLimit = Duration.seconds(5)
    static let longestTime = Duration.seconds(30 * 86_400)

    /// Creates a store.
    /// - Parameters:
    ///   - server: The server.
    ///   - options: Limits on entries and times.
    ///   - timeSource: The clock for pauses after failures.
    public init(
        _ server: ValkeyServer, options: Options = Options(),
        timeSource: any TimeSource = SystemTimeSource()
    ) {
        self.server = server
        self.options = options
        self.timeSource = timeSource
    }

    /// Returns true, because other replicas change the entries.
    public var isShared: Bool { true }

    /// The number of bytes that a writer collects and sends.
    public var entryBounds: CacheEntryBounds? {
        CacheEntryBounds(memory: 2 * Int64(min(max(options.maxEntryBytes, 0), 1 << 40)))
    }

    /// An incomplete usage, because the store sends no command for the usage.
    public var usage: CacheUsage {
        var usage = CacheUsage()
        usage.isComplete = false
        return usage
    }

    // MARK: Finding

    /// Finds an entry with one command.
    public func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry? {
        var (removal, lost): (MonotonicInstant?, Date?)
        var known: StoreState.Known?
        state.withLock { state in
            if let since = state.removal(of: key) {
                if state.writes.admit(at: timeSource.now) { removal = since }
            } else if state.reads.admit(at: timeSource.now) {
                lost = state.lostRemoval
                known = state.known(key, prefix: options.prefix)
            }
        }
        if let removal {
            // The server may still have an outdated entry, because the removal is not confirmed.
            try await recorded(\.writes) { try await remove(key, since: removal) }
        }
        guard let known else { return nil }
        let reply = try await recorded(\.reads) {
            try await server.send(known.key.lookUp, within: options.timeLimit)
        }
        return latest(in: reply, of: key, known, after: lost, where: isMatch)
    }

    // Returns the newest matching entry of a reply.
    private func latest(
        in reply: ValkeyValue, of key: CacheKey, _ known: StoreState.Known, after lost: Date?,
        where isMatch: (StoredResponse) -> Bool
    ) -> CacheEntry? {
        guard case .array(let values) = reply else { return nil }
        var best: (record: EntryRecord, index: Int)?
        for index in stride(from: 1, to: values.count, by: 2) {
            guard case .bytes(let name) = values[index - 1], name.first == StoreKey.variantMark,
                case .bytes(let bytes) = values[index],
                let record = EntryRecord.read(bytes, knowing: known.record)
            else { continue }
            // The entry may belong to another key, or may be older than a lost removal.
            guard record == known.record || record.response.key == key,
                lost.map({ record.response.responseTime > $0 }) ?? true, isMatch(record.response)
            else { continue }
            if let best, best.record.response.responseTime > record.response.responseTime {
                continue
            }
            best = (record, index)
        }
        guard let best, case .bytes(let bytes) = values[best.index],
            let content = best.record.content(of: bytes)
        else { return nil }
        if known.record != best.record { state.withLock { $0.learn(key, best.record) } }
        return CacheEntry(response: best.record.response, content: CachedData(content))
    }

    /// Runs an operation on the server, and records whether the server answered.
    func recorded<Value: Sendable>(
        _ circuit: WritableKeyPath<StoreState, StoreCircuit>, _ operation: () async throws -> Value
    ) async throws -> Value {
        let result: Result<Value, any Error>
        do { result = .success(try await operation()) } catch { result = .failure(error) }
        var hasAnswered = true
        if case .failure(let error) = result {
            // A cancellation does not show whether the server would answer.
            if error is CancellationError { throw error }
            hasAnswered = StoreFault.isOfOneKey(error)
        }
        let removes = state.withLock { state in
            state[keyPath: circuit].record(hasAnswered, at: timeSource.now)
            guard case .success = result, state.nextRemoval != nil, !state.isRemoving,
                state.writes.admit(at: timeSource.now)
            else { return false }
            state.isRemoving = true
            return true
        }
        // The task ends when all removals are confirmed, or when one fails.
        if removes { _ = Task.apart { await self.removeLate() } }
        return try result.get()
    }

    /// Returns the names of a key for a write, and the time of an unconfirmed removal, or nil while
    /// the circuit is open.
    func admitWrite(_ key: CacheKey) -> (names: StoreKey, removal: MonotonicInstant?)? {
        let now = timeSource.now
        return state.withLock { state in
            guard state.writes.admit(at: now) else { return nil }
            return (state.known(key, prefix: options.prefix).key, state.removal(of: key))
        }
    }

    // MARK: Removing

    /// Removes all entries under a key.
    ///
    /// If the server does not confirm the removal, this replica does not use the entries any more,
    /// and repeats the removal as soon as the server is reachable.
    public func remove(_ key: CacheKey) async throws {
        let now = timeSource.now
        let isAdmitted = state.withLock { state in
            state.addRemoval(key, at: now, timeSource.date)
            return state.writes.admit(at: now)
        }
        guard isAdmitted else { throw StoreFault.away }
        try await recorded(\.writes) { try await remove(key, since: now) }
    }

    func remove(_ key: CacheKey, since: MonotonicInstant) async throws {
        let name = state.withLock { $0.known(key, prefix: options.prefix).key.name }
        let age = since.duration(to: timeSource.now)
        _ = try await server.run(
            StoreScripts.remove, keys: [name], arguments: [Self.microseconds(age), replica],
            within: options.timeLimit)
        state.withLock { $0.endRemoval(key, since: since) }
    }

    // Repeats removals that have failed.
    private func removeLate() async {
        while let next = state.withLock({ $0.nextRemoval }) {
            do {
                try await recorded(\.writes) { try await remove(next.key, since: next.since) }
            } catch {
                break
            }
        }
        state.withLock { $0.isRemoving = false }
    }

    /// Repeats the removals that the server has not confirmed.
    public func flush() async {
        let isMine = state.withLock { state in
            defer { state.isRemoving = true }
            return !state.isRemoving
        }
        if isMine { await removeLate() }
    }

    static func microseconds(_ duration: Duration) -> Data {
        Data(String(max(duration.wholeNanoseconds / 1000, 0)).utf8)
    }

    static func milliseconds(_ duration: Duration) -> Data {
        Data(String(max(duration.wholeNanoseconds / 1_000_000, 0)).utf8)
    }
}

extension ValkeyStore {
    /// The limits on the entries of a store, and the time limits.
    public struct Options: Sendable {
        /// The prefix of all keys.
        ///
        /// Replicas with the same prefix and the same partition share their entries
        /// (``/TurnpikeCache/Cache/init(_:partition:options:meter:)``).
        public var prefix = "turnpike:cache"

        /// The time limit for one operation of a call.
        public var timeLimit: Duration = .milliseconds(20)

        /// The maximum number of bytes of all variants of a URL together, including heads.
        ///
        /// Larger content is not stored. A new variant may remove the oldest variant.
        public var maxEntryBytes = 1 << 20

        /// The time for which a stale response with a validator is kept.
        public var staleTime: Duration = .seconds(86_400)

        /// The longest wait of a miss for the request of another replica, or nil for no wait.
        ///
        /// With this wait, all replicas together send one request. If the requesting replica stops,
        /// the wait ends after this time. If a response is not stored, the waiting callers, and all
        /// callers of the next ten seconds, send their own requests.
        public var fleetLock: Duration?

        /// Creates the default options.
        public init() {}
    }

    /// The longest wait of a call for another call's request.
    public var claimLimit: Duration? { options.fleetLock }
}
