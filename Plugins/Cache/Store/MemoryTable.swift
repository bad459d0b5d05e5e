import Foundation
import TurnpikeCore

/// The entries of a ``MemoryStore``, and which of them go first.
struct MemoryTable {
    // A class, so that looking at an entry copies none of it.
    private final class Node {
        let response: StoredResponse
        let data: Data
        let bytes: Int
        var isProtected: Bool
        // The neighbours in its segment's list; -1 at the ends.
        var newer = -1
        var older = -1

        init(_ response: StoredResponse, _ data: Data, _ bytes: Int, isProtected: Bool) {
            self.response = response
            self.data = data
            self.bytes = bytes
            self.isProtected = isProtected
        }
    }

    private struct Segment {
        var newest = -1
        var oldest = -1
        var bytes = 0
    }

    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var index: [CacheKey: [Int]] = [:]
    private var probation = Segment()
    private var protected = Segment()
    private var evictions = 0
    private let maxBytes: Int

    /// The most variants of one key; the one that came first goes.
    static let maxVariants = 16

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    var usage: CacheUsage {
        CacheUsage(
            entries: nodes.count - free.count, bytes: Int64(probation.bytes + protected.bytes),
            evictions: evictions)
    }

    var list: [CacheListing] {
        nodes.compactMap { node in
            node.map { CacheListing(response: $0.response, length: Int64($0.data.count)) }
        }
    }

    // MARK: Finding

    mutating func entry(
        for key: CacheKey, where isMatch: (StoredResponse) -> Bool
    ) -> CacheEntry? {
        guard let places = index[key] else { return nil }
        var best: (place: Int, node: Node)?
        for place in places {
            guard let node = nodes[place], isMatch(node.response) else { continue }
            if let best, best.node.response.responseTime > node.response.responseTime { continue }
            best = (place, node)
        }
        guard let best else { return nil }
        touch(best.place)
        return CacheEntry(response: best.node.response, content: CachedData(best.node.data))
    }

    /// Whether an entry is there as it was found.
    func contains(_ response: StoredResponse) -> Bool {
        place(of: response).map { place in
            nodes[place]?.response.responseTime == response.responseTime
        } ?? false
    }

    private func place(of response: StoredResponse) -> Int? {
        index[response.key]?.first { nodes[$0]?.response.variant == response.variant }
    }

    // MARK: Changing

    mutating func insert(_ response: StoredResponse, _ data: Data) {
        // What asked for it before is asked for again: it keeps its rank.
        var isProtected = false
        var count = 0
        if let places = index[response.key] {
            count = places.count
            if let place = places.first(where: { nodes[$0]?.response.variant == response.variant })
            {
                isProtected = nodes[place]?.isProtected ?? false
                remove(at: place)
                count -= 1
            }
        }
        let bytes = data.count + response.headBytes
        guard bytes <= maxBytes else { return }
        if count >= Self.maxVariants, let oldest = index[response.key]?.first {
            remove(at: oldest)
        }
        let node = Node(response, data, bytes, isProtected: isProtected)
        let place = free.popLast() ?? nodes.count
        if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
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
        var count = 0
        for place in nodes.indices where nodes[place].map({ condition($0.response) }) ?? false {
            remove(at: place)
            count += 1
        }
        return count
    }

    private mutating func remove(at place: Int) {
        guard let node = nodes[place] else { return }
        unlink(place)
        nodes[place] = nil
        free.append(place)
        guard let entry = index.index(forKey: node.response.key) else { return }
        index.values[entry].removeAll { $0 == place }
        if index.values[entry].isEmpty { index.remove(at: entry) }
    }

    // MARK: Ranks

    private mutating func touch(_ place: Int) {
        unlink(place)
        nodes[place]?.isProtected = true
        link(place)
        while protected.bytes > maxBytes / 5 * 4, protected.oldest != place {
            let oldest = protected.oldest
            unlink(oldest)
            nodes[oldest]?.isProtected = false
            link(oldest)
        }
    }

    // The segments share the room: what the one does not use, the other may.
    private mutating func shrink(keeping place: Int) {
        while probation.bytes + protected.bytes > maxBytes {
            var victim = probation.oldest
            if victim == place { victim = nodes[place]?.newer ?? -1 }
            if victim < 0 { victim = protected.oldest }
            if victim < 0 || victim == place { return }
            remove(at: victim)
            evictions += 1
        }
    }

    private mutating func link(_ place: Int) {
        guard let node = nodes[place] else { return }
        var segment = node.isProtected ? protected : probation
        nodes[place]?.older = segment.newest
        nodes[place]?.newer = -1
        if segment.newest >= 0 { nodes[segment.newest]?.newer = place }
        segment.newest = place
        if segment.oldest < 0 { segment.oldest = place }
        segment.bytes += node.bytes
        if node.isProtected { protected = segment } else { probation = segment }
    }

    private mutating func unlink(_ place: Int) {
        guard place >= 0, let node = nodes[place] else { return }
        var segment = node.isProtected ? protected : probation
        if node.newer >= 0 {
            nodes[node.newer]?.older = node.older
        } else {
            segment.newest = node.older
        }
        if node.older >= 0 {
            nodes[node.older]?.newer = node.newer
        } else {
            segment.oldest = node.newer
        }
        segment.bytes -= node.bytes
        if node.isProtected { protected = segment } else { probation = segment }
    }
}
