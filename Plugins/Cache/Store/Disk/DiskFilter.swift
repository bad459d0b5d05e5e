import Foundation
import Synchronization
import TurnpikeCore

/// What a disk store tells from memory, for all processes: which keys have no entry in the folder,
/// and how often entries were removed.
///
/// ```
/// removals  256 numbers: how often entries of a key with that number were removed
/// words     a Bloom filter (Bloom, "Space/time trade-offs in hash coding", 1970) of three bits in
///           one word for each key
/// ```
///
/// The file is small and read by each look-up, and so is in the system's memory: a miss costs no
/// look at the folder and no change of thread. Bits are set before an entry appears, under the
/// folder's lock, and cleared where the entries are counted anew. What is lost of it costs misses,
/// and nothing else.
final class DiskFilter: Sendable {
    private static let lines = 256
    private static let wordsOffset = Int64(8 * lines)
    private static let wordRange: ClosedRange<Int64> = 1 << 10...1 << 20

    private let file: CacheFile
    private let words: Int64
    // The removals that this process has made.
    private let own = Mutex([UInt64](repeating: 0, count: lines))

    /// Opens the filter of a folder, or makes an empty one, within the folder's lock.
    /// - Parameters:
    ///   - path: The file.
    ///   - maxBytes: The bound of the folder, which tells how many entries there may be.
    /// - Throws: What keeps the file from being opened or made.
    init(_ path: String, maxBytes: Int64) throws {
        file = try CacheFile.shared(path)
        let words = (try file.state().size - Self.wordsOffset) / 8
        if Self.wordRange.contains(words), words & (words - 1) == 0 {
            self.words = words
            return
        }
        // Four entries to a word: less than one key in a hundred is taken for another.
        let wanted = maxBytes / (4 * 4096)
        var size = Self.wordRange.lowerBound
        while size < wanted, size < Self.wordRange.upperBound { size *= 2 }
        self.words = size
        try file.resize(to: 0)
        try file.resize(to: Self.wordsOffset + 8 * size)
    }

    // MARK: Entries

    /// Whether there may be an entry for a key.
    func mayHold(_ name: EntryName) -> Bool {
        guard let word = file.number(at: offset(name.mark)) else { return true }
        return word & Self.bits(name.mark) == Self.bits(name.mark)
    }

    /// Notes that there will be an entry, within the folder's lock.
    /// - Returns: Whether there may have been one before.
    @discardableResult
    func add(_ name: EntryName) throws -> Bool {
        let offset = offset(name.mark)
        let word = file.number(at: offset) ?? 0
        let bits = Self.bits(name.mark)
        if word & bits == bits { return true }
        try file.write(word | bits, at: offset)
        return false
    }

    /// Notes which entries there are, and no others, within the folder's lock.
    func reset(to marks: some Sequence<UInt64>) throws {
        var table = [UInt64](repeating: 0, count: Int(words))
        for mark in marks { table[Int((offset(mark) - Self.wordsOffset) / 8)] |= Self.bits(mark) }
        var writer = RecordWriter()
        for word in table { writer.add(word) }
        try file.write(writer.data, at: Self.wordsOffset)
    }

    private func offset(_ mark: UInt64) -> Int64 {
        Self.wordsOffset + 8 * (Int64(truncatingIfNeeded: mark) & (words - 1))
    }

    // Of the mark's other end.
    private static func bits(_ mark: UInt64) -> UInt64 {
        1 << (mark >> 58) | 1 << (mark >> 52 & 63) | 1 << (mark >> 46 & 63)
    }

    // MARK: Removals

    /// How often other processes have removed entries of keys that share a key's number.
    ///
    /// What a store began to take before the number changed must not be stored: a removal wins over
    /// it, whoever writes it.
    func removalsByOthers(_ key: CacheKey) -> UInt64? {
        let line = Self.line(key)
        // The other order than that of noting: see there.
        guard let all = file.number(at: Int64(8 * line)) else { return nil }
        return all &- own.withLock { $0[line] }
    }

    /// Notes that a key's entries are removed, within the folder's lock.
    func noteRemoval(of key: CacheKey) throws { try note(Self.line(key)) }

    /// Notes that any entries are removed, within the folder's lock.
    func noteRemovals() throws { for line in 0..<Self.lines { try note(line) } }

    private func note(_ line: Int) throws {
        // Before the file: who reads in between sees a number that no later one equals.
        own.withLock { $0[line] &+= 1 }
        try file.write((file.number(at: Int64(8 * line)) ?? 0) &+ 1, at: Int64(8 * line))
    }

    // FNV-1a (Fowler, Noll and Vo).
    private static func line(_ key: CacheKey) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in key.url.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int(hash % UInt64(lines))
    }
}

/// What the files of a key are called.
struct EntryName {
    private let digest: [UInt8]

    /// Works out the name of a key's entries.
    init(_ key: CacheKey) {
        let text = "\(key.method.rawValue)\n\(key.partition ?? "")\n\(key.url)"
        digest = SHA256.digest(Data(text.utf8))
    }

    /// The digits that the files' names begin with.
    var text: String { digest.prefix(20).hexadecimal }

    /// The first eight bytes, as a number.
    var mark: UInt64 {
        var mark: UInt64 = 0
        for index in 0..<8 { mark = mark << 8 | UInt64(digest[index]) }
        return mark
    }

    /// The mark of the file with a name.
    static func mark(of name: String) -> UInt64 { UInt64(name.prefix(16), radix: 16) ?? 0 }
}
