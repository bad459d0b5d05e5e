// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The entries of a ``MemoryStore`` and the order of their removal.
struct MemoryTable {
    private struct Entry {
        let response: StoredResponse
        let content: Data
    }

    // The position of an entry in its segment. Ranks are separate from entries, because each hit
    // changes several ranks.
    private struct Rank {
        let bytes: Int
        var isProtected: Bool
        var newer = -1
        var older = -1
    }

    private struct Segment {
        var newest = -1
        var oldest = -1
        var bytes = 0

        mutating func add(_ place: Int, _ ranks: inout [Rank]) {
            ranks[place].older = newest
            ranks[place].newer = -1
            if newest >= 0 { ranks[newest].newer = place }
            newest = place
            if oldest < 0 { oldest = place }
            bytes += ranks[place].bytes
        }

        mutating func remove(_ place: Int, _ ranks: inout [Rank]) {
            let rank = ranks[place]
            if rank.newer >= 0 { ranks[rank.newer].older = rank.older }
            if rank.older >= 0 { ranks[rank.older].newer = rank.newer }
            if newest == place { newest = rank.older }
            if oldest == place { oldest = rank.newer }
            bytes -= rank.bytes
        }
    }

    // An unused index contains nil.
    private var entries: [Entry?] = []
    private var ranks: [Rank] = []
    private var free: [Int] = []
    // The indices of each key's variants, the oldest first.
    private var index: [CacheKey: [Int]] = [:]
    private var probation = Segment()
    private var protected = Segment()
    private var evictions = 0
    private let maxBytes: Int

    // The maximum number of variants of one key. The oldest surplus variant is removed.
    static let maxVariants = 16

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    var usage: CacheUsage {
        CacheUsage(
            entries: entries.count - free.count, bytes: Int64(probation.bytes + protected.bytes),
            evictions: evictions)
    }

    var list: [CacheListing] {
        entries.compactMap { entry in
            entry.map { CacheListing(response: $0.response, length: Int64($0.content.count)) }
        }
    }

    // MARK: Finding

    mutating func entry(
        for key: CacheKey, where isMatch: (StoredResponse) -> Bool
    ) -> CacheEntry? {
        var best: (place: Int, response: StoredResponse)?
        for place in index[key] ?? [] {
            guard let response = entries[place]?.response, isMatch(response) else { continue }
            if let best, best.response.responseTime > response.responseTime { continue }
            best = (place, response)
        }
        guard let best, let content = entries[best.place]?.content else { return nil }
        touch(best.place)
        return CacheEntry(response: best.response, content: CachedData(content))
    }

    /// Whether the table still contains the unchanged entry.
    func contains(_ response: StoredResponse) -> Bool {
        guard let place = place(of: response) else { return false }
        return entries[place]?.response.responseTime == response.responseTime
    }

    private func place(of response: StoredResponse) -> Int? {
        index[response.key]?.first { entries[$0]?.response.variant == response.variant }
    }

    // MARK: Changing

    mutating func insert(_ response: StoredResponse, _ data: Data) {
        var rank = Rank(bytes: data.count + response.headBytes, isProtected: false)
        if let old = place(of: response) {
            // The new entry keeps the segment of the old entry, because callers will probably use
            // the new entry again.
            rank.isProtected = ranks[old].isProtected
            remove(at: old)
        }
        guard rank.bytes <= maxBytes else { return }
        if let variants = index[response.key], variants.count >= Self.maxVariants {
            remove(at: variants[0])
        }
        let entry = Entry(response: response, content: data)
        let place = free.popLast() ?? entries.count
        if place == entries.count {
            entries.append(entry)
            ranks.append(rank)
        } else {
            entries[place] = entry
            ranks[place] = rank
        }
        index[response.key, default: []].append(place)
        link(place)
        shrink(keeping: place)
    }

    mutating func remove(_ response: StoredResponse) {
        if let place = place(of: response) { remove(at: place) }
    }

    mutating func remove(_ key: CacheKey) {
        for place in index[key] ?? [] { remove(at: place) }
    }

    mutating func removeAll(where condition: (StoredResponse) -> Bool) -> Int {
        let places = entries.indices.filter { entries[$0].map { condition($0.response) } ?? false }
        for place in places { remove(at: place) }
        return places.count
    }

    private mutating func remove(at place: Int) {
        guard let key = entries[place]?.response.key else { return }
        unlink(place)
        entries[place] = nil
        free.append(place)
        index[key]?.removeAll { $0 == place }
        if index[key]?.isEmpty ?? false { index[key] = nil }
    }

    // MARK: Ranks

    private mutating func touch(_ place: Int) {
        move(place, isProtected: true)
        while protected.bytes > maxBytes / 5 * 4, protected.oldest != place {
            move(protected.oldest, isProtected: false)
        }
    }

    private mutating func move(_ place: Int, isProtected: Bool) {
        unlink(place)
        ranks[place].isProtected = isProtected
        link(place)
    }

    // Each segment may use the space that the other segment does not use.
    private mutating func shrink(keeping place: Int) {
        while probation.bytes + protected.bytes > maxBytes {
            var victim = probation.oldest
            if victim == place { victim = ranks[place].newer }
            if victim < 0 { victim = protected.oldest }
            if victim < 0 || victim == place { return }
            remove(at: victim)
            evictions += 1
        }
    }

    private mutating func link(_ place: Int) {
        if ranks[place].isProtected {
            protected.add(place, &ranks)
        } else {
            probation.add(place, &ranks)
        }
    }

    private mutating func unlink(_ place: Int) {
        if ranks[place].isProtected {
            protected.remove(place, &ranks)
        } else {
            probation.remove(place, &ranks)
        }
    }
}
