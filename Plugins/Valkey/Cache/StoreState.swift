// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCache
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport
import TurnpikeValkey
import TurnpikeSharedState

/// The state that one replica keeps about a shared store.
struct StoreState {
    /// The last entry under a key, because an equal head in a later reply need not be parsed again.
    final class Known: Sendable {
        let key: StoreKey
        let record: EntryRecord?

        init(_ key: StoreKey, _ record: EntryRecord? = nil) {
            self.key = key
            self.record = record
        }
    }

    // Reads and writes have separate circuits, because a server with full memory can still be read.
    var reads = StoreCircuit()
    var writes = StoreCircuit()
    var isRemoving = false

    // The keys used in the current and in the previous period. Older keys are dropped without a
    // search.
    private var recent: [CacheKey: Known] = [:]
    private var older: [CacheKey: Known] = [:]
    private var recordBytes = 0
    // The removals that the server has not confirmed, with the times of the requests.
    private var removals: [CacheKey: MonotonicInstant] = [:]
    /// The time at which a removal may have been lost.
    ///
    /// Entries stored before this time are not served.
    private(set) var lostRemoval: Date?

    private static let maxKnown = 1024
    private static let maxRecordBytes = 1 << 20
    private static let maxRemovals = 4096

    // MARK: Keys

    mutating func known(_ key: CacheKey, prefix: String) -> Known {
        if let known = recent[key] { return known }
        let known = older[key] ?? Known(StoreKey(key, prefix: prefix))
        insert(key, known)
        return known
    }

    mutating func learn(_ key: CacheKey, _ record: EntryRecord) {
        guard let known = recent[key] ?? older[key] else { return }
        insert(key, Known(known.key, record))
    }

    private mutating func insert(_ key: CacheKey, _ known: Known) {
        recent[key] = known
        recordBytes += known.record?.tail.count ?? 0
        guard recent.count > Self.maxKnown || recordBytes > Self.maxRecordBytes else { return }
        older = recent
        recent = [:]
        recordBytes = 0
    }

    // MARK: Removals

    mutating func addRemoval(_ key: CacheKey, at now: MonotonicInstant, _ date: Date) {
        if removals.count < Self.maxRemovals || removals[key] != nil {
            removals[key] = now
        } else {
            lostRemoval = date
        }
    }

    /// The time of a removal that the server has not confirmed, or nil.
    func removal(of key: CacheKey) -> MonotonicInstant? {
        removals.isEmpty ? nil : removals[key]
    }

    var nextRemoval: (key: CacheKey, since: MonotonicInstant)? {
        removals.first.map { ($0.key, $0.value) }
    }

    /// Drops an unconfirmed removal, unless the removal was requested again after the given time.
    mutating func endRemoval(_ key: CacheKey, since: MonotonicInstant) {
        if removals[key] == since { removals[key] = nil }
    }
}

enum StoreFault {
    /// The error that the store throws while the store's circuit is open.
    static let away = ClientError(
        .connection, "the cache's server cannot be reached; for a while, the cache does not ask it")

    static func isOfOneKey(_ error: any Error) -> Bool {
        (error as? ClientError)?.message.contains("WRONGTYPE") ?? false
    }
}

/// The names that a cache key and its variants have on a server.
struct StoreKey: Sendable {
    /// The name of the hash with the entries, in which braces mark the digest as the hash tag.
    let name: String
    let lookUp: ValkeyCommand

    /// The name of the claim for fetching a missing response.
    var claim: String { name + ":claim" }

    static let variantMark = UInt8(ascii: "v")

    init(_ key: CacheKey, prefix: String) {
        var hash = SHA256()
        // The length precedes each part, because two keys must never have the same bytes.
        for part in [key.method.rawValue, key.url, key.partition.map { "-" + $0 } ?? ""] {
            hash.update(Data("\(part.utf8.count):\(part)".utf8))
        }
        name = "\(prefix):{\(hash.finalize().prefix(16).hexadecimal)}"
        lookUp = ValkeyCommand("HGETALL", name, key: name)
    }

    /// Returns the name of a variant's field, which is short enough for `Data` without an
    /// allocation.
    static func field(_ variant: Variant) -> Data {
        if variant.fields.isEmpty { return Data("v".utf8) }
        var hash = SHA256()
        for field in variant.fields {
            let value = field.value ?? ""
            hash.update(Data("\(field.name.utf8.count):\(field.name)".utf8))
            hash.update(Data("\(field.value == nil ? -1 : value.utf8.count):\(value)".utf8))
        }
        let digest = hash.finalize().prefix(8).base64EncodedString()
        return Data("v\(digest.prefix { $0 != "=" })".utf8)
    }
}
