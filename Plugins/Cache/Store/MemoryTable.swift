import Foundation
import TurnpikeCore

/// The entries of a ``MemoryStore``, and the order in which they are removed.
struct MemoryTable {
    private struct Node {
        let response: StoredResponse
        let content: Data
        let bytes: Int
        var isProtected: Bool
        // The neighbours in its segment's list; -1 at the ends.
        var newer = -1
        var older = -1
    }

    private struct Segment {
        var newest = -1
        var oldest = -1
        var bytes = 0
    }

    // nil where a place is free.
    private var nodes: [Node?] = []
    private var free: [Int] = []
    // The places of each key's variants, the oldest in front.
    private var index: [CacheKey: [Int]] = [:]
    private var probation = Segment()
    private var protected = Segment()
    private var evictions = 0
    private let maxBytes: Int

    /// The most variants of one key; the oldest goes.
    static let maxVariants = 16

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    var usage: CacheUsage {
        CacheUsage(
            entries: nodes.count - free.count, bytes: Int64(probation.bytes + protected.bytes),
            evictions: evictions)
    }

    var list: [CacheListing] {
        nodes.compactMap { node in
            node.map { CacheListing(response: $0.response, length: Int64($0.content.count)) }
        }
    }

    // MARK: Finding

    /// The last of the entries under a key for which a condition holds.
    mutating func entry(
        for key: CacheKey, where isMatch: (StoredResponse) -> Bool
    ) -> CacheEntry? {
        var best: (place: Int, entry: CacheEntry)?
        for place in index[key] ?? [] {
            guard let node = nodes[place], isMatch(node.response) else { continue }
            if let best, best.entry.response.responseTime > node.response.responseTime { continue }
            best = (
                place, CacheEntry(response: node.response, content: CachedData(node.content))
            )
        }
        if let best { touch(best.place) }
        return best?.entry
    }

    /// Whether an entry is there as it was found.
    func contains(_ response: StoredResponse) -> Bool {
        guard let place = place(of: response) else { return false }
        return nodes[place]?.response.responseTime == response.responseTime
    }

    private func place(of response: StoredResponse) -> Int? {
        index[response.key]?.first { nodes[$0]?.response.variant == response.variant }
    }

    // MARK: Changing

    mutating func insert(_ response: StoredResponse, _ data: Data) {
        var node = Node(
            response: response, content: data, bytes: data.count + response.headBytes,
            isProtected: false)
        if let old = place(of: response) {
            // It keeps its rank: who asked for it before will ask for it again.
            node.isProtected = nodes[old]?.isProtected ?? false
            remove(at: old)
        }
        guard node.bytes <= maxBytes else { return }
        if let variants = index[response.key], variants.count >= Self.maxVariants {
            remove(at: variants[0])
        }
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
        let places = nodes.indices.filter { nodes[$0].map { condition($0.response) } ?? false }
        for place in places { remove(at: place) }
        return places.count
    }

    private mutating func remove(at place: Int) {
        guard let key = nodes[place]?.response.key else { return }
        unlink(place)
        nodes[place] = nil
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
        nodes[place]?.isProtected = isProtected
        link(place)
    }

    // The segments share the room: one may use what the other does not.
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
        change(node) { nodes, segment in
            nodes[place]?.older = segment.newest
            nodes[place]?.newer = -1
            if segment.newest >= 0 { nodes[segment.newest]?.newer = place }
            segment.newest = place
            if segment.oldest < 0 { segment.oldest = place }
            segment.bytes += node.bytes
        }
    }

    private mutating func unlink(_ place: Int) {
        guard let node = nodes[place] else { return }
        change(node) { nodes, segment in
            if node.newer >= 0 { nodes[node.newer]?.older = node.older }
            if node.older >= 0 { nodes[node.older]?.newer = node.newer }
            if segment.newest == place { segment.newest = node.older }
            if segment.oldest == place { segment.oldest = node.newer }
            segment.bytes -= node.bytes
        }
    }

    // Changes the list that a node is in.
    private mutating func change(
        _ node: Node, _ action: (inout [Node?], inout Segment) -> Void
    ) {
        if node.isProtected { action(&nodes, &protected) } else { action(&nodes, &probation) }
    }
}
