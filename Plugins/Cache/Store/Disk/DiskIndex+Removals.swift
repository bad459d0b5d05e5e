// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The numbers of removals by this process and by other processes.
///
/// Each bucket of an index counts removals. A look-up before each request records the count. If
/// another process removes an entry of the bucket after the look-up, the response is not stored.
struct Removals {
    // The removals by this process in all buckets, and in single buckets.
    private var ofAll: UInt64 = 0
    private var ofBucket: [UInt64: UInt64] = [:]
    // The removals by other processes at the latest look-ups. A look-up may overwrite the count of
    // an earlier look-up.
    private var looks: [Int: (mark: UInt64, seen: UInt64)] = [:]
    private static let maxLooks = 256

    func own(_ bucket: UInt64) -> UInt64 { ofAll &+ (ofBucket[bucket] ?? 0) }

    mutating func noteOwn() { ofAll &+= 1 }

    mutating func noteOwn(_ bucket: UInt64) { ofBucket[bucket, default: 0] &+= 1 }

    mutating func note(_ seen: UInt64, by mark: UInt64) {
        looks[Int(mark % UInt64(Self.maxLooks))] = (mark, seen)
    }

    /// Takes the removals by other processes at a key's last look-up, or nil after an overwrite.
    mutating func take(_ mark: UInt64) -> UInt64? {
        let place = Int(mark % UInt64(Self.maxLooks))
        guard let look = looks[place], look.mark == mark else { return nil }
        looks[place] = nil
        return look.seen
    }
}

extension DiskIndex {
    /// Looks up a key, and records the number of removals by other processes.
    func look(_ mark: UInt64) throws -> [Place] {
        let bucket = try bucket(of: mark)
        let seen = removalsByOthers(bucket, mark)
        removals.withLock { $0.note(seen, by: mark) }
        return bucket.places.filter { $0.mark == mark }
    }

    /// The removals by other processes at a key's last look-up, or the current number if unknown.
    func removalsSeen(_ mark: UInt64) throws -> UInt64 {
        try removals.withLock { $0.take(mark) } ?? removalsByOthers(mark)
    }

    /// The number of removals by other processes in a key's bucket.
    func removalsByOthers(_ mark: UInt64) throws -> UInt64 {
        removalsByOthers(try bucket(of: mark), mark)
    }

    // The seed distinguishes removals in this index from removals in an earlier index.
    func removalsByOthers(_ bucket: Bucket, _ mark: UInt64) -> UInt64 {
        bucket.removals &+ seed &- removals.withLock { $0.own(number(of: mark)) }
    }

    // Counts a removal of a key's entries. The caller holds the folder's lock.
    func noteRemoval(_ mark: UInt64) throws {
        // The removal is counted here before the file changes. A look-up between both steps records
        // a number that never recurs.
        removals.withLock { $0.noteOwn(number(of: mark)) }
        try change(mark) { $0.removals &+= 1 }
    }

    // Counts a removal of entries of any key. The caller holds the folder's lock.
    func noteRemovals() throws {
        removals.withLock { $0.noteOwn() }
        try changeAll { $0.removals &+= 1 }
    }
}
