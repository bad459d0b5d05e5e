import Foundation
import TurnpikeCore

/// Entries that are stored together, as one file.
///
/// ```
/// opening   64 bytes: how many of the entries are still wanted
/// entries   each of them from a multiple of 64 bytes on
/// ```
///
/// To make a file costs many times what it costs to write a small response: what is stored in the
/// same moment shares one. It goes when the last of its entries does, or with all of them when room
/// is made.
struct DiskPack: ~Copyable {
    /// An entry, and where in the file it is.
    struct Entry {
        let response: StoredResponse
        /// The digest of its key.
        let mark: UInt64
        /// How often others had removed what it is about, where that matters.
        let removals: UInt64?
        let offset: Int
        /// How many bytes it takes, or 0 for more than are read at once.
        let bytes: Int
    }

    static let openingBytes = 64

    /// The most bytes of an entry that shares a file: it is read at once, before the file may go.
    static let maxSharingBytes = 96 << 10

    /// The most bytes of a file that several entries share: they go together when room is made.
    static let maxSharedBytes = 512 << 10

    private let maxBytes: Int
    private(set) var entries: [Entry] = []
    private var body = RecordWriter(capacity: 4096)

    /// Creates an empty one.
    /// - Parameter maxBytes: The most bytes for several entries; a single one may take more.
    init(maxBytes: Int = 0) {
        self.maxBytes = min(maxBytes, Self.maxSharedBytes)
        body.addZeros(Self.openingBytes)
    }

    /// How long the file is.
    var bytes: Int { body.count }

    /// Makes the file.
    mutating func write(as name: String, in folder: Folder) throws {
        body.set(UInt64(entries.count), at: 0)
        let file = try CacheFile.new(name, in: folder)
        do {
            try file.write(body, at: 0)
        } catch {
            // Else it goes when the folder is counted.
            _ = try? folder.remove(name)
            throw error
        }
    }

    /// Forgets the entries, and keeps the memory for others.
    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        body.removeAll(from: Self.openingBytes)
    }

    static func addOpening(of count: Int, to writer: inout RecordWriter) {
        writer.add(UInt64(count))
        writer.addZeros(openingBytes - 8)
    }

    /// Adds an entry, unless the file would become too large to be shared.
    /// - Returns: Whether it is in.
    mutating func add(
        _ response: StoredResponse, _ content: Data, mark: UInt64, since removals: UInt64? = nil
    ) -> Bool {
        let start = body.count
        _ = EntryFile.addHead(of: response, length: Int64(content.count), to: &body)
        let first = body.count
        body.add(content)
        for block in stride(from: 0, to: content.count, by: EntryFile.blockBytes) {
            let count = min(EntryFile.blockBytes, content.count - block)
            body.add(body.checksum(from: first + block, most: count))
        }
        let unit = DiskIndex.Place.unit
        body.addZeros((unit - body.count % unit) % unit)
        let bytes = body.count - start
        let mayShare = bytes <= Self.maxSharingBytes && entries.last?.bytes != 0
        if !entries.isEmpty, body.count > maxBytes || !mayShare {
            body.removeAll(from: start)
            return false
        }
        entries.append(
            Entry(
                response: response, mark: mark, removals: removals, offset: start,
                bytes: bytes <= Self.maxSharingBytes ? bytes : 0))
        return true
    }
}
