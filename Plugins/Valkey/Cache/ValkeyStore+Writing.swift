// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCache
import TurnpikeCore
import TurnpikeSharedState
import TurnpikeSupport
import TurnpikeValkey

extension ValkeyStore {
    /// Begins to store a response, or returns nil if the content is too large for an entry.
    public func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)? {
        if length ?? 0 > options.maxEntryBytes { return nil }
        return ValkeyWriter(self, response, maxBytes: options.maxEntryBytes)
    }

    fileprivate func store(
        _ response: StoredResponse, _ content: Data, since begun: MonotonicInstant
    ) async throws {
        let record = EntryRecord(response, content: content)
        guard content.count + record.tail.count <= options.maxEntryBytes else {
            return try await remove(response.key)
        }
        let now = timeSource.now
        guard let (names, removal) = admitWrite(response.key) else { throw StoreFault.away }
        let exchange = max(response.responseTime.timeIntervalSince(response.requestTime), 0)
        // The server subtracts the age from the arrival time of the command. A command may still be
        // sent after the caller has stopped waiting.
        let age = begun.duration(to: now) + .seconds(min(exchange, 1e6)) + latestArrival
        try await recorded(\.writes) {
            if let removal { try await remove(response.key, since: removal) }
            _ = try await server.run(
                StoreScripts.store, keys: [names.name],
                arguments: [
                    StoreKey.field(response.variant), content + record.tail, lifetime(response),
                    Self.microseconds(age), Data(String(Self.maxVariants).utf8),
                    Data(String(options.maxEntryBytes).utf8), replica,
                ], within: options.timeLimit)
        }
    }

    // The longest time for which a connection without replies stays open. This time depends on the
    // limit of the oldest command, which may come from this store or from shared state.
    private var latestArrival: Duration {
        max(server.configuration.stallLimit, options.timeLimit, .seconds(2))
    }

    /// Replaces an entry's head.
    ///
    /// The server keeps the content, which is not sent again.
    public func update(_ entry: CacheEntry, to response: StoredResponse) async throws {
        let old = entry.response
        guard old.key == response.key, let data = (entry.content as? CachedData)?.data else {
            return try await remove(old.key)
        }
        let before = EntryRecord(old, content: data)
        let after = before.replacing(response)
        guard let (names, removal) = admitWrite(old.key) else { throw StoreFault.away }
        try await recorded(\.writes) {
            if let removal { return try await remove(old.key, since: removal) }
            _ = try await server.run(
                StoreScripts.update, keys: [names.name],
                arguments: [
                    StoreKey.field(old.variant), StoreKey.field(response.variant), before.tail,
                    after.tail, lifetime(response),
                ], within: options.timeLimit)
        }
    }

    private func lifetime(_ response: StoredResponse) -> Data {
        let time = response.timeOfUse(staleTime: options.staleTime)
        return Self.milliseconds(max(min(time, Self.longestTime), .milliseconds(1)))
    }
}

private final class ValkeyWriter: CacheWriter {
    private let store: ValkeyStore
    private let response: StoredResponse
    private let maxBytes: Int
    private let begun: MonotonicInstant
    // The content, or nil if the content is too large, was committed, or was abandoned.
    private let content = Mutex<Data?>(Data())

    init(_ store: ValkeyStore, _ response: StoredResponse, maxBytes: Int) {
        self.store = store
        self.response = response
        self.maxBytes = maxBytes
        begun = store.timeSource.now
    }

    func write(_ chunk: Data) async throws {
        content.withLock { content in
            guard let count = content?.count else { return }
            if chunk.count > maxBytes - count { content = nil } else { content?.append(chunk) }
        }
    }

    func commit() async throws {
        let data = content.withLock { content in
            defer { content = nil }
            return content
        }
        guard let data else { return try await store.remove(response.key) }
        try await store.store(response, data, since: begun)
    }

    func abandon() { content.withLock { $0 = nil } }
}

extension ValkeyStore {
    // The time after an unstored response for which calls with the same key do not wait for each
    // other.
    private static let openTime = Duration.seconds(10)

    /// Takes the right to send the request for a missing response.
    public func claim(_ key: CacheKey) async throws -> CacheClaim {
        guard let time = options.fleetLock else { return .unneeded }
        guard let (names, _) = admitWrite(key) else { return .unneeded }
        let token = UUID().uuidString
        let reply = try await recorded(\.writes) {
            try await server.run(
                StoreScripts.claim, keys: [names.claim],
                arguments: [Data(token.utf8), Self.milliseconds(max(time, .milliseconds(1)))],
                within: options.timeLimit)
        }
        switch reply {
        case .integer(-1): return .granted(token: token)
        case .integer(let rest) where rest > 0: return .held(atMost: .milliseconds(rest))
        default: return .unneeded
        }
    }

    /// Ends a claim.
    public func release(_ token: String, of key: CacheKey, waitersGo: Bool) async throws {
        guard let (names, _) = admitWrite(key) else { return }
        _ = try await recorded(\.writes) {
            try await server.run(
                StoreScripts.release, keys: [names.claim],
                arguments: [
                    Data(token.utf8), waitersGo ? Self.milliseconds(Self.openTime) : Data("0".utf8),
                ], within: options.timeLimit)
        }
    }
}
