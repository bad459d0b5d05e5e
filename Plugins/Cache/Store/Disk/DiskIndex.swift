import Foundation
import Synchronization
import TurnpikeCore

/// Where the entries of a folder are, and how often entries were removed, for all processes.
///
/// ```
/// opening   256 bytes: magic, number of buckets, seed, checksum
/// buckets   256 bytes each: how often entries were removed, and up to 15 places of entries, those
///           that came first in front
/// ```
///
/// The file is small and read by each look-up, and so is in the system's memory: a miss costs one
/// read, no look at the folder and no change of thread. What it does not name is not there. It is changed
/// under the folder's lock and read without: what a place leads to says itself what it is, so that a
/// look-up that meets a change, or a place that was damaged, finds an entry or none, and never
/// another one. Where it is lost, so are the entries.
final class DiskIndex: Sendable {
    /// Where an entry is.
    struct Place: Hashable, Sendable {
        /// The number of its file, which is not 0.
        let file: UInt32
        /// Where in the file it begins: a multiple of ``unit``.
        let offset: Int
        /// How many bytes it takes, as a multiple of ``unit``; 0 for more than are read at once.
        let bytes: Int
        /// The digest of its key.
        let mark: UInt64

        static let unit = 64

        init(file: UInt32, offset: Int, bytes: Int, mark: UInt64) {
            self.file = file
            self.offset = offset
            self.bytes = bytes
            self.mark = mark
        }

        fileprivate init(_ word: UInt64, _ mark: UInt64) {
            file = UInt32(word >> 32)
            offset = Int(word >> 16 & 0xFFFF) * Self.unit
            bytes = Int(word & 0xFFFF) * Self.unit
            self.mark = mark
        }

        fileprivate var word: UInt64 {
            UInt64(file) << 32 | UInt64(offset / Self.unit) << 16 | UInt64(bytes / Self.unit)
        }
    }

    private static let magic: UInt64 = 0x0000_3478_646E_4954  // "TIndx4"
    private static let bucketsOffset: Int64 = 256
    private static let bucketRange: ClosedRange<UInt64> = 1...1 << 18
    private static let placesPerBucket = 15
    static let bucketWords = 2 + 2 * placesPerBucket
    // The first word counts removals; the second one is zero.
    private static let firstPlace = 2
    private static let bucketsAtOnce: UInt64 = 256

    let file: CacheFile
    private let buckets: UInt64
    let seed: UInt64
    let own = Mutex(OwnRemovals())

    private static let name = "index"

    /// Opens the index of a folder; nil if there is none.
    static func existing(in folder: Folder) throws -> DiskIndex? {
        try CacheFile.existing(name, in: folder, forWriting: true).flatMap { try DiskIndex($0) }
    }

    /// Opens the index of a folder, or makes an empty one, within the folder's lock.
    /// - Parameters:
    ///   - folder: The folder.
    ///   - maxBytes: The bound of the folder, which tells how many entries there may be.
    /// - Returns: The index.
    /// - Throws: What keeps the file from being opened or made.
    static func opened(in folder: Folder, maxBytes: Int64) throws -> DiskIndex {
        if let index = try existing(in: folder), index.leavesRoom(in: maxBytes) { return index }
        // About a place for each KiB, half of what a small response takes: few buckets are ever full.
        let wanted = UInt64(clamping: maxBytes >> 14)
        var buckets = bucketRange.lowerBound
        while buckets < wanted, buckets < bucketRange.upperBound { buckets *= 2 }
        // Not in the place of an old one: who has that open is to see that it has gone.
        try folder.remove(name)
        let file = try CacheFile.new(name, in: folder)
        let index = DiskIndex(file, buckets: buckets, seed: UInt64.random(in: 0...UInt64.max))
        try file.resize(to: index.bytes)
        var opening = RecordWriter()
        for number in [magic, buckets, index.seed] { opening.add(number) }
        opening.add(opening.checksum(from: 0))
        try file.write(opening, at: 0)
        return index
    }

    private convenience init?(_ file: CacheFile) throws {
        let data = try file.read(32, at: 0)
        var reader = RecordReader(data)
        guard reader.number64() == Self.magic, let buckets = reader.number64(),
            let seed = reader.number64(), reader.number64() == XXHash64.hash(data.prefix(24)),
            Self.bucketRange.contains(buckets), buckets & (buckets - 1) == 0
        else { return nil }
        self.init(file, buckets: buckets, seed: seed)
    }

    private init(_ file: CacheFile, buckets: UInt64, seed: UInt64) {
        self.file = file
        self.buckets = buckets
        self.seed = seed
    }

    /// Whether the file has gone: another one stands in its place, or none.
    var isRemoved: Bool { file.isRemoved }

    /// What the file takes, of the folder's bound.
    var bytes: Int64 { Self.bucketsOffset + Int64(buckets) * Int64(8 * Self.bucketWords) }

    // One that was made for a far higher bound would leave no room for entries. One for a lower bound
    // stays: processes with several bounds that share a folder all use the smallest index.
    private func leavesRoom(in maxBytes: Int64) -> Bool {
        bytes - Self.bucketsOffset - Int64(8 * Self.bucketWords) <= maxBytes / 4
    }

    // MARK: Entries

    /// The digest of a key, which the entries of this folder are found by.
    func mark(of key: CacheKey) -> UInt64 {
        var mark = XXHash64.hash(key.method.rawValue, seed: seed)
        if let partition = key.partition { mark = XXHash64.hash(partition, seed: mark) }
        return XXHash64.hash(key.url, seed: mark)
    }

    /// Where a key's entries are, those that came first in front.
    func places(_ mark: UInt64) throws -> [Place] {
        try unsafe file.withNumbers(Self.bucketWords, at: offset(mark)) { words in
            unsafe Self.places(words) { $0 == mark }
        }
    }

    /// Notes an entry's place, within the folder's lock.
    /// - Parameters:
    ///   - place: The place.
    ///   - removals: How often others had removed entries of its bucket; nil where it does not matter.
    ///   - replaced: Which of the places of the same key it takes the place of.
    /// - Returns: What went: what it replaces, or what came first where too much shares a bucket; nil
    ///   where others have removed something since, and nothing was noted.
    /// - Throws: What keeps the file from being read or written.
    func add(
        _ place: Place, since removals: UInt64?, replacing replaced: ([Place]) -> [Place]
    ) throws -> [Place]? {
        let offset = offset(place.mark)
        return try unsafe file.withNumbers(Self.bucketWords, at: offset) { words in
            if let removals, unsafe removalsByOthers(words[0], place.mark) != removals {
                return nil
            }
            let (count, isKnown) = unsafe Self.look(for: place.mark, in: words)
            var gone: [Place] = []
            if isKnown {
                gone = unsafe replaced(Self.places(words) { $0 == place.mark })
            }
            if gone.isEmpty, count < Self.placesPerBucket {
                let position = Self.firstPlace + 2 * count
                try file.write(place.word, place.mark, at: offset + Int64(8 * position))
                return []
            }
            let places = unsafe Self.places(words)
            if gone.isEmpty { gone = [places[0]] }
            try write(places.filter { !gone.contains($0) } + [place], at: offset)
            return gone
        }
    }

    // How many places a bucket has, and whether one of them is of a key.
    private static func look(
        for mark: UInt64, in words: UnsafeMutableBufferPointer<UInt64>
    ) -> (count: Int, isKnown: Bool) {
        var isKnown = false
        for count in 0..<placesPerBucket {
            let index = firstPlace + 2 * count
            if unsafe words[index] == 0 { return (count, isKnown) }
            if unsafe words[index + 1] == mark { isKnown = true }
        }
        return (placesPerBucket, isKnown)
    }

    /// Forgets an entry's place, within the folder's lock.
    /// - Returns: Whether it was known.
    func remove(_ place: Place) throws -> Bool {
        let places = try bucket(place.mark)
        let others = places.filter { $0 != place }
        if others.count == places.count { return false }
        try write(others, at: offset(place.mark))
        return true
    }

    /// All places.
    func places() throws -> [Place] {
        var all: [Place] = []
        try forEachBucket { places, _ in all += places }
        return all
    }

    /// Forgets all that is not in one of some files, within the folder's lock.
    /// - Returns: How many entries there are in each file that has any.
    func keep(only files: Set<UInt32>) throws -> [UInt32: Int] {
        var counts: [UInt32: Int] = [:]
        try forEachBucket { places, offset in
            let kept = places.filter { files.contains($0.file) }
            if kept.count < places.count { try write(kept, at: offset) }
            for place in kept { counts[place.file, default: 0] += 1 }
        }
        return counts
    }

    private func bucket(_ mark: UInt64) throws -> [Place] {
        try unsafe file.withNumbers(Self.bucketWords, at: offset(mark)) { words in
            unsafe Self.places(words)
        }
    }

    func bucket(of mark: UInt64) -> UInt64 { mark & (buckets - 1) }

    func offset(_ mark: UInt64) -> Int64 {
        Self.bucketsOffset + Int64(bucket(of: mark)) * Int64(8 * Self.bucketWords)
    }

    // Those that are not empty.
    private func forEachBucket(_ action: ([Place], Int64) throws -> Void) throws {
        try unsafe forManyBuckets { words, offset in
            for start in stride(from: 0, to: words.count, by: Self.bucketWords)
            where unsafe words[start + Self.firstPlace] != 0 {
                let places = unsafe Self.places(words, from: start)
                try action(places, offset + Int64(8 * start))
            }
        }
    }

    func forManyBuckets(
        _ action: (UnsafeMutableBufferPointer<UInt64>, Int64) throws -> Void
    ) throws {
        for first in stride(from: 0, to: buckets, by: UInt64.Stride(Self.bucketsAtOnce)) {
            let count = Int(min(Self.bucketsAtOnce, buckets - first)) * Self.bucketWords
            try unsafe file.withNumbers(count, at: offset(first)) { words in
                try unsafe action(words, offset(first))
            }
        }
    }

    static func places(
        _ words: UnsafeMutableBufferPointer<UInt64>, from start: Int = 0,
        where isWanted: (UInt64) -> Bool = { _ in true }
    ) -> [Place] {
        var places: [Place] = []
        for index in stride(from: start + firstPlace, to: start + bucketWords, by: 2) {
            if unsafe words[index] == 0 { break }
            guard unsafe isWanted(words[index + 1]) else { continue }
            unsafe places.append(Place(words[index], words[index + 1]))
        }
        return places
    }

    private func write(_ places: [Place], at offset: Int64) throws {
        let words = places.flatMap { [$0.word, $0.mark] }
        let rest = [UInt64](repeating: 0, count: 2 * Self.placesPerBucket - words.count)
        try file.write(words + rest, at: offset + Int64(8 * Self.firstPlace))
    }
}
