// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The removals by this process, and those by other processes that look-ups have noticed.
///
/// Each bucket of an index counts removals. A request follows a look-up. If another process has
/// removed an entry of the bucket since that look-up, the response is not stored.
struct Removals {
    // Removals by this process: of all keys, and in single buckets.
    private var ofAll: UInt64 = 0
    private var ofBucket: [UInt64: UInt64] = [:]
    // The removals by others at the latest look-ups. A newer look-up may overwrite an older one.
    private var looks: [Int: (mark: UInt64, seen: UInt64)] = [:]
    private static let maxLooks = 256

    func own(_ bucket: UInt64) -> UInt64 { ofAll &+ (ofBucket[bucket] ?? 0) }

    mutating func noteOwn() { ofAll &+= 1 }

    mutating func noteOwn(_ bucket: UInt64) { ofBucket[bucket, default: 0] &+= 1 }

    mutating func note(_ seen: UInt64, by mark: UInt64) {
        looks[Int(mark % UInt64(Self.maxLooks))] = (mark, seen)
    }

    /// Takes the removals by others at a key's last look-up; nil if they were overwritten.
    mutating func take(_ mark: UInt64) -> UInt64? {
        let place = Int(mark % UInt64(Self.maxLooks))
        guard let look = looks[place], look.mark == mark else { return nil }
        looks[place] = nil
        return look.seen
    }
}

extension DiskIndex {
    /// Looks up a key, and notes how many removals other processes have made until now.
    func look(_ mark: UInt64) throws -> [Place] {
        let bucket = try bucket(of: mark)
        let seen = removalsByOthers(bucket, mark)
        removals.withLock { $0.note(seen, by: mark) }
        return bucket.places.filter { $0.mark == mark }
    }

    /// The removals by others at a key's last look-up, or until now if that count is unknown.
    func removalsSeen(_ mark: UInt64) throws -> UInt64 {
        try removals.withLock { $0.take(mark) } ?? removalsByOthers(mark)
    }

    /// How often other processes have removed entries of a key's bucket.
    func removalsByOthers(_ mark: UInt64) throws -> UInt64 {
        removalsByOthers(try bucket(of: mark), mark)
    }

    // The seed is added, so that removals in this index differ from those in an earlier index.
    func removalsByOthers(_ bucket: Bucket, _ mark: UInt64) -> UInt64 {
        bucket.removals &+ seed &- removals.withLock { $0.own(number(of: mark)) }
    }

    /// Notes that a key's entries are removed, within the folder's lock.
    func noteRemoval(_ mark: UInt64) throws {
        // The removal is counted before the file is written. So a look-up in between notes a number
        // that is never used again.
        removals.withLock { $0.noteOwn(number(of: mark)) }
        try change(mark) { $0.removals &+= 1 }
    }

    /// Notes that entries of any key are removed, within the folder's lock.
    func noteRemovals() throws {
        removals.withLock { $0.noteOwn() }
        try changeAll { $0.removals &+= 1 }
    }
}
