// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// A file of entries that are stored together (`FORMAT.md`, "packs").
struct DiskPack {
    struct Entry {
        let response: StoredResponse
        let mark: UInt64
        /// The removals by other processes at the time of the request, or nil for no check.
        let removals: UInt64?
        let offset: Int
        /// The number of bytes of the entry, or 0 if the entry is read in blocks.
        let bytes: Int
    }

    static let openingBytes = 64

    // The maximum number of bytes of an entry that shares a file. An entry that shares a file is
    // read as a whole, because the file may be removed later.
    static let maxSharingBytes = 96 << 10

    // Entries that share a file are removed together.
    static let maxSharedBytes = 512 << 10

    private let maxBytes: Int
    private(set) var entries: [Entry] = []
    private var body = Self.opening(of: 0)

    /// `maxBytes` limits only a file with several entries.
    init(maxBytes: Int = 0) { self.maxBytes = min(maxBytes, Self.maxSharedBytes) }

    static func opening(of count: Int) -> RecordWriter {
        var opening = RecordWriter()
        opening.add(UInt64(count))
        opening.addZeros(openingBytes - 8)
        return opening
    }

    var bytes: Int { body.bytes.count }

    mutating func write(as name: String, in folder: Folder) throws {
        body.set(UInt64(entries.count), at: 0)
        let file = try CacheFile.new(name, in: folder)
        do {
            try file.write(body.bytes, at: 0)
        } catch {
            // If the removal fails, the next count of the folder removes the file.
            _ = try? folder.remove(name)
            throw error
        }
    }

    /// Adds an entry, unless the file would become too large for sharing.
    mutating func add(
        _ response: StoredResponse, _ content: Data, mark: UInt64, since removals: UInt64? = nil
    ) -> Bool {
        let start = bytes
        _ = EntryFile.addHead(of: response, length: Int64(content.count), to: &body)
        body.add(content)
        for checksum in EntryFile.checksums(content) { body.add(checksum) }
        let unit = DiskIndex.Place.unit
        body.addZeros((unit - bytes % unit) % unit)
        let length = bytes - start
        let mayShare = length <= Self.maxSharingBytes && entries.last?.bytes != 0
        if !entries.isEmpty, bytes > maxBytes || !mayShare {
            body.removeAll(from: start)
            return false
        }
        entries.append(
            Entry(
                response: response, mark: mark, removals: removals, offset: start,
                bytes: length <= Self.maxSharingBytes ? length : 0))
        return true
    }
}
