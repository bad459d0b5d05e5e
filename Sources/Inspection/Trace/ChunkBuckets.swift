// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The times and sizes of the reads of a body, in a bounded number of buckets.
///
/// Each new chunk gets a separate bucket. If there are too many buckets of one size, the two oldest
/// buckets of this size are merged. Old buckets therefore cover more time than new buckets.
struct ChunkBuckets {
    struct Bucket {
        let start: MonotonicInstant
        var end: MonotonicInstant
        var bytes: Int64
        var count: Int
        // How often the bucket was merged.
        fileprivate var level = 0

        fileprivate mutating func take(_ next: Bucket) {
            end = next.end
            bytes += next.bytes
            count += next.count
            level = max(level, next.level) + 1
        }
    }

    static let limit = 32
    // The maximum number of buckets of one size.
    private static let perLevel = 4

    private(set) var buckets: [Bucket] = []

    mutating func add(_ bytes: Int, at now: MonotonicInstant) {
        buckets.append(Bucket(start: now, end: now, bytes: Int64(bytes), count: 1))
        // From the oldest bucket to the newest, the sizes only decrease.
        var end = buckets.count
        while end > Self.perLevel {
            let level = buckets[end - 1].level
            let first = end - Self.perLevel - 1
            guard first >= 0, buckets[first].level == level else { break }
            merge(at: first)
            end = first + 1
        }
        if buckets.count > Self.limit { merge(at: 0) }
    }

    func merged(upTo limit: Int) -> [Bucket] {
        var copy = self
        while copy.buckets.count > max(limit, 1) { copy.merge(at: 0) }
        return copy.buckets
    }

    private mutating func merge(at place: Int) {
        let next = buckets[place + 1]
        buckets[place].take(next)
        buckets.remove(at: place + 1)
    }
}
