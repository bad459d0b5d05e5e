// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The removals that this process has made, and those by other processes that its look-ups have met.
///
/// Each bucket of an index counts removals. A request is sent after a look-up. Its response is not
/// stored if another process has removed an entry of its bucket since then.
struct Removals {
    // Removals by this process: of entries of any key, and of single buckets.
    private var ofAll: UInt64 = 0
    private var ofBucket: [UInt64: UInt64] = [:]
    // The removals by others as of the latest look-ups. A newer look-up may replace an older one.
    private var looks: [Int: (mark: UInt64, seen: UInt64)] = [:]
    private static let maxLooks = 256

    func own(_ bucket: UInt64) -> UInt64 { ofAll &+ (ofBucket[bucket] ?? 0) }

    mutating func noteOwn() { ofAll &+= 1 }

    mutating func noteOwn(_ bucket: UInt64) { ofBucket[bucket, default: 0] &+= 1 }

    mutating func note(_ seen: UInt64, by mark: UInt64) {
        looks[Int(mark % UInt64(Self.maxLooks))] = (mark, seen)
    }

    /// Takes out the removals by others as of a key's last look-up; nil if that is not known any more.
    mutating func take(_ mark: UInt64) -> UInt64? {
        let place = Int(mark % UInt64(Self.maxLooks))
        guard let look = looks[place], look.mark == mark else { return nil }
        looks[place] = nil
        return look.seen
    }
}

extension DiskIndex {
    /// Looks a key up, and notes the removals by others until then.
    func look(_ mark: UInt64) throws -> [Place] {
        let bucket = try bucket(of: mark)
        let seen = removalsByOthers(bucket, mark)
        removals.withLock { $0.note(seen, by: mark) }
        return bucket.places.filter { $0.mark == mark }
    }

    /// The removals by others as of a key's last look-up, or as of now if that is not known.
    /// - Throws: An error if the file cannot be read.
    func removalsSeen(_ mark: UInt64) throws -> UInt64 {
        try removals.withLock { $0.take(mark) } ?? removalsByOthers(mark)
    }

    /// How often other processes have removed entries of a key's bucket.
    func removalsByOthers(_ mark: UInt64) throws -> UInt64 {
        removalsByOthers(try bucket(of: mark), mark)
    }

    // The seed is included, so that removals of this index are not confused with those of an
    // earlier index.
    func removalsByOthers(_ bucket: Bucket, _ mark: UInt64) -> UInt64 {
        bucket.removals &+ seed &- removals.withLock { $0.own(number(of: mark)) }
    }

    /// Notes that a key's entries are removed, within the folder's lock.
    func noteRemoval(_ mark: UInt64) throws {
        // It is counted before the file is written, so a look-up in between notes a number that is
        // never used again.
        removals.withLock { $0.noteOwn(number(of: mark)) }
        try change(mark) { $0.removals &+= 1 }
    }

    /// Notes that any entries are removed, within the folder's lock.
    func noteRemovals() throws {
        removals.withLock { $0.noteOwn() }
        try changeAll { $0.removals &+= 1 }
    }
}
