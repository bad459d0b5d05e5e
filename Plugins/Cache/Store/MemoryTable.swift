import Foundation
import TurnpikeCore

/// The entries of a ``MemoryStore``, and which of them go first.
struct MemoryTable {
    // Apart from what it holds, so that it is changed without touching a reference count.
    private struct Node {
        let bytes: Int
        var isProtected: Bool
        // The neighbours in its segment's list; -1 at the ends.
        var newer = -1
        var older = -1
        // The variant of its key that came next; -1 at the end.
        var next = -1

        init(_ bytes: Int, isProtected: Bool) {
            self.bytes = bytes
            self.isProtected = isProtected
        }
    }

    private struct Segment {
        var newest = -1
        var oldest = -1
        var bytes = 0
    }

    private var nodes: [Node] = []
    // Of each node; nil where it is free.
    private var responses: [StoredResponse?] = []
    private var contents: [Data] = []
    private var free: [Int] = []
    // The variant of each key that came first.
    private var index: [CacheKey: Int] = [:]
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
        responses.indices.compactMap { place in
            responses[place].map {
                CacheListing(response: $0, length: Int64(contents[place].count))
            }
        }
    }

    // MARK: Finding

    mutating func entry(
        for key: CacheKey, where isMatch: (StoredResponse) -> Bool
    ) -> CacheEntry? {
        guard var place = index[key] else { return nil }
        var best: (place: Int, response: StoredResponse)?
        while place >= 0, let response = responses[place] {
            if isMatch(response),
                best.map({ $0.response.responseTime <= response.responseTime }) ?? true
            {
                best = (place, response)
            }
            place = nodes[place].next
        }
        guard let best else { return nil }
        touch(best.place)
        return CacheEntry(response: best.response, content: CachedData(contents[best.place]))
    }

    /// Whether an entry is there as it was found.
    func contains(_ response: StoredResponse) -> Bool {
        place(of: response).map { place in
            responses[place]?.responseTime == response.responseTime
        } ?? false
    }

    private func place(of response: StoredResponse) -> Int? {
        index[response.key].flatMap { place(of: response, from: $0) }
    }

    private func place(of response: StoredResponse, from first: Int) -> Int? {
        var place = first
        while place >= 0 {
            if responses[place]?.variant == response.variant { return place }
            place = nodes[place].next
        }
        return nil
    }

    // MARK: Changing

    mutating func insert(_ response: StoredResponse, _ data: Data) {
        let bytes = data.count + response.headBytes
        // What asked for it before is asked for again: it keeps its rank.
        var isProtected = false
        var first = index[response.key]
        if let known = first, let place = place(of: response, from: known) {
            isProtected = nodes[place].isProtected
            remove(at: place)
            first = index[response.key]
        }
        guard bytes <= maxBytes else { return }
        let place = free.popLast() ?? nodes.count
        let node = Node(bytes, isProtected: isProtected)
        if place == nodes.count {
            nodes.append(node)
            responses.append(response)
            contents.append(data)
        } else {
            nodes[place] = node
            responses[place] = response
            contents[place] = data
        }
        if let first { chain(place, behind: first) } else { index[response.key] = place }
        link(place)
        shrink(keeping: place)
    }

    // Puts an entry behind the other variants of its key, the first of which goes if they are many.
    private mutating func chain(_ place: Int, behind first: Int) {
        var last = first
        var count = 1
        while nodes[last].next >= 0 {
            last = nodes[last].next
            count += 1
        }
        nodes[last].next = place
        if count >= Self.maxVariants { remove(at: first) }
    }

    private mutating func unchain(_ place: Int, _ key: CacheKey) {
        guard let entry = index.index(forKey: key) else { return }
        let next = nodes[place].next
        var before = index.values[entry]
        if before == place {
            if next < 0 { index.remove(at: entry) } else { index.values[entry] = next }
            return
        }
        while nodes[before].next >= 0, nodes[before].next != place { before = nodes[before].next }
        nodes[before].next = next
    }

    mutating func remove(_ response: StoredResponse) {
        if let place = place(of: response) { remove(at: place) }
    }

    mutating func remove(_ key: CacheKey) {
        while let place = index[key] { remove(at: place) }
    }

    mutating func removeAll(where condition: (StoredResponse) -> Bool) -> Int {
        var count = 0
        for place in responses.indices where responses[place].map(condition) ?? false {
            remove(at: place)
            count += 1
        }
        return count
    }

    private mutating func remove(at place: Int) {
        guard let key = responses[place]?.key else { return }
        unlink(place)
        unchain(place, key)
        responses[place] = nil
        contents[place] = Data()
        free.append(place)
    }

    // MARK: Ranks

    private mutating func touch(_ place: Int) {
        unlink(place)
        nodes[place].isProtected = true
        link(place)
        while protected.bytes > maxBytes / 5 * 4, protected.oldest != place {
            let oldest = protected.oldest
            unlink(oldest)
            nodes[oldest].isProtected = false
            link(oldest)
        }
    }

    // The segments share the room: what the one does not use, the other may.
    private mutating func shrink(keeping place: Int) {
        while probation.bytes + protected.bytes > maxBytes {
            var victim = probation.oldest
            if victim == place { victim = nodes[place].newer }
            if victim < 0 { victim = protected.oldest }
            if victim < 0 || victim == place { return }
            remove(at: victim)
            evictions += 1
        }
    }

    private mutating func link(_ place: Int) {
        let isProtected = nodes[place].isProtected
        var segment = isProtected ? protected : probation
        nodes[place].older = segment.newest
        nodes[place].newer = -1
        if segment.newest >= 0 { nodes[segment.newest].newer = place }
        segment.newest = place
        if segment.oldest < 0 { segment.oldest = place }
        segment.bytes += nodes[place].bytes
        if isProtected { protected = segment } else { probation = segment }
    }

    private mutating func unlink(_ place: Int) {
        if place < 0 { return }
        let node = nodes[place]
        var segment = node.isProtected ? protected : probation
        if node.newer >= 0 {
            nodes[node.newer].older = node.older
        } else {
            segment.newest = node.older
        }
        if node.older >= 0 {
            nodes[node.older].newer = node.newer
        } else {
            segment.oldest = node.newer
        }
        segment.bytes -= node.bytes
        if node.isProtected { protected = segment } else { probation = segment }
    }
}
