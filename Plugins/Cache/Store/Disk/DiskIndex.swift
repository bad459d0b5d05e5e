// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The places of a folder's entries (`FORMAT.md`, "index").
///
/// The folder's lock protects changes. Look-ups read without the lock. Each entry contains its key
/// and a checksum, and a look-up during a change therefore finds the right entry or nothing.
final class DiskIndex: Sendable {
    struct Place: Hashable, Sendable {
        /// The number of the file; never 0.
        let file: UInt32
        /// The position of the entry in the file, a multiple of ``unit``.
        let offset: Int
        // The number of bytes of the entry, a multiple of ``unit``. A large entry, which is read
        // in blocks, has 0.
        let bytes: Int
        let mark: UInt64

        static let unit = 64
    }

    private static let magic: UInt64 = 0x0000_3478_646E_4954  // "TIndx4"
    private static let name = "index"
    private static let bucketsOffset: Int64 = 256
    private static let bucketRange: ClosedRange<UInt64> = 1...1 << 18

    private let file: CacheFile
    private let bucketCount: UInt64
    /// The seed of the digests, which also distinguishes this index from an earlier index.
    let seed: UInt64
    let removals = Mutex(Removals())

    // MARK: Opening

    static func existing(in folder: Folder) throws -> DiskIndex? {
        guard let file = try CacheFile.existing(name, in: folder, forWriting: true) else {
            return nil
        }
        let opening = try file.numbers(4, at: 0)
        guard opening[0] == magic, bucketRange.contains(opening[1]),
            opening[1] & (opening[1] - 1) == 0, opening[3] == XXHash64.hash(opening.prefix(3))
        else { return nil }
        return DiskIndex(file, buckets: opening[1], seed: opening[2])
    }

    // Opens the index of a folder or creates an empty index. The caller holds the folder's lock.
    static func opened(in folder: Folder, maxBytes: Int64) throws -> DiskIndex {
        if let index = try existing(in: folder), index.leavesRoom(in: maxBytes) { return index }
        // The index has one place for each KiB. A small response has about two KiB, and few buckets
        // are therefore full.
        let wanted = UInt64(clamping: maxBytes >> 14)
        var buckets = bucketRange.lowerBound
        while buckets < wanted, buckets < bucketRange.upperBound { buckets *= 2 }
        // A new file is needed, because processes with the open old file must notice its removal.
        try folder.remove(name)
        let file = try CacheFile.new(name, in: folder)
        let index = DiskIndex(file, buckets: buckets, seed: UInt64.random(in: 0...UInt64.max))
        try file.resize(to: index.bytes)
        let opening = [magic, buckets, index.seed]
        try file.write(opening + [XXHash64.hash(opening)], at: 0)
        return index
    }

    private init(_ file: CacheFile, buckets: UInt64, seed: UInt64) {
        self.file = file
        self.bucketCount = buckets
        self.seed = seed
    }

    var isRemoved: Bool { file.isRemoved }

    /// The size of the file in bytes, which is part of the folder's limit.
    var bytes: Int64 { Self.bucketsOffset + Int64(bucketCount) * Int64(Bucket.bytes) }

    // The index for a much higher limit has no space for entries. The index for a lower limit
    // remains. Processes with different limits therefore use the smallest index.
    private func leavesRoom(in maxBytes: Int64) -> Bool {
        bytes - Self.bucketsOffset - Int64(Bucket.bytes) <= maxBytes / 4
    }

    // MARK: Entries

    func mark(of key: CacheKey) -> UInt64 {
        var mark = XXHash64.hash(key.method.rawValue, seed: seed)
        if let partition = key.partition { mark = XXHash64.hash(partition, seed: mark) }
        return XXHash64.hash(key.url, seed: mark)
    }

    /// The places of a key's entries, the oldest first.
    func places(_ mark: UInt64) throws -> [Place] {
        try bucket(of: mark).places.filter { $0.mark == mark }
    }

    // Reading the places needs no lock of the folder.
    func places() throws -> [Place] {
        var all: [Place] = []
        try changeAll { all += $0.places }
        return all
    }

    /// Adds an entry's place.
    ///
    /// The caller holds the folder's lock.
    /// - Parameters:
    ///   - place: The place.
    ///   - seen: The removals by other processes at the time of the request, or nil for no check.
    ///   - replaced: Returns the places of the key that the new place replaces.
    /// - Returns: The replaced places, or the oldest place of a full bucket. If other processes
    ///   have removed entries since `seen`, nothing is added and the result is nil.
    /// - Throws: An error if the file cannot be read or written.
    func add(
        _ place: Place, since seen: UInt64?, replacing replaced: ([Place]) -> [Place]
    ) throws -> [Place]? {
        try change(place.mark) { bucket in
            if let seen, removalsByOthers(bucket, place.mark) != seen { return nil }
            let same = bucket.places.filter { $0.mark == place.mark }
            var gone = same.isEmpty ? [] : replaced(same)
            if gone.isEmpty, bucket.places.count == Bucket.maxPlaces { gone = [bucket.places[0]] }
            bucket.places.removeAll { gone.contains($0) }
            bucket.places.append(place)
            return gone
        }
    }

    // Removes an entry's place from the index. The caller holds the folder's lock.
    func remove(_ place: Place) throws -> Bool {
        try change(place.mark) { bucket in
            let count = bucket.places.count
            bucket.places.removeAll { $0 == place }
            return bucket.places.count < count
        }
    }

    /// Removes the places in files outside `files`, and counts the entries of each file in `files`.
    func keep(only files: Set<UInt32>) throws -> [UInt32: Int] {
        var counts: [UInt32: Int] = [:]
        try changeAll { bucket in
            bucket.places.removeAll { !files.contains($0.file) }
            for place in bucket.places { counts[place.file, default: 0] += 1 }
        }
        return counts
    }

    // MARK: Buckets

    func number(of mark: UInt64) -> UInt64 { mark & (bucketCount - 1) }

    private func offset(_ number: UInt64) -> Int64 {
        Self.bucketsOffset + Int64(number) * Int64(Bucket.bytes)
    }

    func bucket(of mark: UInt64) throws -> Bucket {
        Bucket(try file.numbers(Bucket.words, at: offset(number(of: mark)))[...])
    }

    func change<Value>(
        _ mark: UInt64, _ action: (inout Bucket) throws -> Value
    ) throws -> Value {
        let before = try bucket(of: mark)
        var bucket = before
        let value = try action(&bucket)
        if bucket != before { try file.write(bucket.words, at: offset(number(of: mark))) }
        return value
    }

    /// Calls `action` with each bucket, and writes the changed buckets in large blocks.
    func changeAll(_ action: (inout Bucket) throws -> Void) throws {
        for first in stride(from: 0, to: bucketCount, by: 256) {
            let count = Int(min(256, bucketCount - first))
            let before = try file.numbers(count * Bucket.words, at: offset(first))
            var after = before
            for start in stride(from: 0, to: before.count, by: Bucket.words) {
                let range = start..<(start + Bucket.words)
                let old = Bucket(before[range])
                var bucket = old
                try action(&bucket)
                if bucket != old { after.replaceSubrange(range, with: bucket.words) }
            }
            if after != before { try file.write(after, at: offset(first)) }
        }
    }
}

// A part of the index. Its 256 bytes contain the places of keys whose digests end alike.
struct Bucket: Equatable {
    /// The number of removals in this bucket by all processes.
    var removals: UInt64
    var places: [DiskIndex.Place]

    static let maxPlaces = 15
    static let words = 2 + 2 * maxPlaces
    static let bytes = 8 * words

    // The words in the file are the removals, a 0, and two words for each place up to the first 0.
    init(_ words: ArraySlice<UInt64>) {
        removals = words[words.startIndex]
        places = []
        for index in stride(from: words.startIndex + 2, to: words.endIndex, by: 2) {
            let word = words[index]
            if word == 0 { break }
            places.append(
                DiskIndex.Place(
                    file: UInt32(word >> 32), offset: Int(word >> 16 & 0xFFFF) * Self.unit,
                    bytes: Int(word & 0xFFFF) * Self.unit, mark: words[index + 1]))
        }
    }

    var words: [UInt64] {
        var words = [removals, 0]
        for place in places {
            words.append(
                UInt64(place.file) << 32 | UInt64(place.offset / Self.unit) << 16
                    | UInt64(place.bytes / Self.unit))
            words.append(place.mark)
        }
        return words + [UInt64](repeating: 0, count: Self.words - words.count)
    }

    private static let unit = DiskIndex.Place.unit
}
