// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCache
import TurnpikeCore
import TurnpikeMiddleware

/// What one replica knows of a shared store.
struct StoreState {
    /// The last entry that was found under a key: an equal head need not be read again.
    final class Known: Sendable {
        let key: StoreKey
        let record: EntryRecord?

        init(_ key: StoreKey, _ record: EntryRecord? = nil) {
            self.key = key
            self.record = record
        }
    }

    /// What may fail apart: a server whose memory is full can still be read.
    enum Circuit { case reads, writes }

    var reads = StoreCircuit()
    var writes = StoreCircuit()
    var isRemoving = false

    // The keys that were used lately, and those before, so that old ones need no search.
    private var recent: [CacheKey: Known] = [:]
    private var older: [CacheKey: Known] = [:]
    private var recordBytes = 0
    // Removals that the server has not confirmed, and when they were asked for.
    private var removals: [CacheKey: MonotonicInstant] = [:]
    /// The time since which a removal may have been lost; older entries are not served.
    private(set) var lostRemoval: Date?

    private static let maxKnown = 1024
    private static let maxRecordBytes = 1 << 20
    private static let maxRemovals = 4096

    /// Records how an operation ended.
    mutating func record(
        _ hasAnswered: Bool, of circuit: Circuit, at now: @autoclosure () -> MonotonicInstant
    ) {
        switch circuit {
        case .reads: reads.record(hasAnswered, at: now())
        case .writes: writes.record(hasAnswered, at: now())
        }
    }

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

    /// Notes that a key must be removed.
    mutating func addRemoval(_ key: CacheKey, at now: MonotonicInstant, _ date: Date) {
        if removals.count < Self.maxRemovals || removals[key] != nil {
            removals[key] = now
        } else {
            lostRemoval = date
        }
    }

    /// When a removal was asked for that the server has not confirmed.
    func removal(of key: CacheKey) -> MonotonicInstant? {
        removals.isEmpty ? nil : removals[key]
    }

    var hasRemovals: Bool { !removals.isEmpty }

    var nextRemoval: (key: CacheKey, since: MonotonicInstant)? {
        removals.first.map { ($0.key, $0.value) }
    }

    /// Notes that the server has removed a key, unless that was asked for again since.
    mutating func endRemoval(_ key: CacheKey, since: MonotonicInstant) {
        if removals[key] == since { removals[key] = nil }
    }
}

/// The fault of a server.
enum StoreFault {
    /// The server is not asked at the moment.
    static let away = ClientError(
        .connection, "the cache's server is away, and is not asked for a moment")

    /// Whether an error concerns one key, and not the server.
    static func isOfOneKey(_ error: any Error) -> Bool {
        (error as? ClientError)?.message.contains("WRONGTYPE") ?? false
    }
}
