import Foundation
import TurnpikeCore

/// A stored response as a file.
///
/// ```
/// opening   64 bytes: magic, version, size of a slot, length of the content, checksum
/// slot A    sequence, length, checksum, record: the response without its content
/// slot B    the same; of those whose checksum is right the one with the higher sequence counts
/// content
/// table     the checksum of each block of the content
/// ```
///
/// A file that is shorter than it says is not whole, and no entry. A new head is written over the
/// slot that does not count: a write that was torn leaves the old one.
struct EntryFile {
    static let blockBytes = 65_536
    private static let openingBytes = 64
    private static let slotOpeningBytes = 24
    private static let magic: UInt64 = 0x4568_6361_4370_7254  // "TrpCachE"
    private static let version: UInt32 = 2

    /// What the opening says.
    struct Layout: Sendable {
        let slotBytes: Int
        let length: Int64

        init(slotBytes: Int, length: Int64) {
            self.slotBytes = slotBytes
            self.length = length
        }

        /// Room for a record, and for it to grow by a quarter.
        init(record: Data, length: Int64) {
            let bytes = EntryFile.slotOpeningBytes + record.count + record.count / 4 + 256
            self.init(slotBytes: (bytes + 255) / 256 * 256, length: length)
        }

        var contentOffset: Int64 { Int64(EntryFile.openingBytes + 2 * slotBytes) }
        var blockCount: Int { Int((length + Int64(blockBytes) - 1) / Int64(blockBytes)) }
        var tableOffset: Int64 { contentOffset + length }
        var fileBytes: Int64 { tableOffset + Int64(8 * blockCount) }
        func slotOffset(_ slot: Int) -> Int { EntryFile.openingBytes + slot * slotBytes }
    }

    let file: CacheFile
    let layout: Layout
    let response: StoredResponse
    let sequence: UInt64
    let slot: Int
    // The beginning of the file.
    private let beginning: Data

    /// Reads a file's head, or gives nil where it is no whole entry of this version.
    init?(_ file: CacheFile) throws {
        let beginning = try file.read(Self.firstRead, at: 0)
        guard let layout = Self.layout(beginning), try file.state().size == layout.fileBytes,
            layout.contentOffset <= beginning.count || layout.slotBytes <= Self.maxSlotBytes
        else { return nil }
        var bytes = beginning
        if bytes.count < layout.contentOffset {
            bytes = try file.read(Int(layout.contentOffset), at: 0)
        }
        var best: (sequence: UInt64, slot: Int, record: Data)?
        for slot in 0..<2 {
            guard let found = Self.record(in: bytes, slot, layout) else { continue }
            if found.sequence > best?.sequence ?? 0 { best = (found.sequence, slot, found.record) }
        }
        guard let best, let response = StoredResponse(record: best.record) else { return nil }
        self.file = file
        self.layout = layout
        self.response = response
        self.beginning = bytes
        sequence = best.sequence
        slot = best.slot
    }

    // What a common response, its head and table included, fits in.
    private static let firstRead = 96 << 10
    private static let maxSlotBytes = 4 << 20

    private static func layout(_ bytes: Data) -> Layout? {
        guard bytes.count >= openingBytes else { return nil }
        var reader = RecordReader(bytes.prefix(openingBytes))
        guard reader.number64() == magic, reader.number32() == version,
            let slotBytes = reader.number32(), let length = reader.number64(),
            let checksum = reader.number64(), checksum == XXHash64.hash(bytes.prefix(24)),
            slotBytes <= maxSlotBytes, length <= 1 << 50
        else { return nil }
        return Layout(slotBytes: Int(slotBytes), length: Int64(length))
    }

    private static func record(
        in bytes: Data, _ slot: Int, _ layout: Layout
    ) -> (sequence: UInt64, record: Data)? {
        let start = layout.slotOffset(slot)
        let part = bytes.dropFirst(start).prefix(layout.slotBytes)
        var reader = RecordReader(part)
        guard let sequence = reader.number64(), sequence > 0, let count = reader.number64(),
            let checksum = reader.number64(), count <= UInt64(part.count - slotOpeningBytes)
        else { return nil }
        let record = part.dropFirst(slotOpeningBytes).prefix(Int(count))
        return checksum == XXHash64.hash(record) ^ sequence ? (sequence, record) : nil
    }

    // MARK: Content

    /// The content, read and checked where it is small, or to be read as it is pulled; nil where it
    /// is damaged.
    func content(_ read: DispatchQueue, onDamage: @escaping @Sendable () -> Void) throws -> (
        any CachedContent
    )? {
        let table: Data
        if beginning.count >= layout.fileBytes {
            table = beginning.dropFirst(Int(layout.tableOffset))
        } else {
            table = try file.read(8 * layout.blockCount, at: layout.tableOffset)
        }
        var reader = RecordReader(table)
        var checksums: [UInt64] = []
        for _ in 0..<layout.blockCount {
            guard let checksum = reader.number64() else { return nil }
            checksums.append(checksum)
        }
        let content = DiskContent(
            file: file, layout: layout, checksums: checksums, queue: read, onDamage: onDamage)
        guard layout.fileBytes <= Self.firstRead else { return content }
        let start = Int(layout.contentOffset)
        let data = beginning.dropFirst(start).prefix(Int(layout.length))
        guard data.count == layout.length, content.isRight(data, from: 0) else { return nil }
        return CachedData(Data(data))
    }

    /// Remembers that the entry was used, to the minute; where that fails, it goes sooner.
    func markUsed() {
        if let used = try? file.state().used, CacheFile.now - used > 60 { file.touch() }
    }

    // MARK: Writing

    /// What stands before the content.
    static func beginning(_ layout: Layout, record: Data) -> Data {
        var writer = RecordWriter()
        writer.add(magic)
        writer.add(version)
        writer.add(UInt32(layout.slotBytes))
        writer.add(UInt64(layout.length))
        writer.add(XXHash64.hash(writer.data))
        var data = writer.data
        data.append(Data(count: openingBytes - data.count))
        data.append(slot(record, sequence: 1))
        data.append(Data(count: Int(layout.contentOffset) - data.count))
        return data
    }

    static func slot(_ record: Data, sequence: UInt64) -> Data {
        var writer = RecordWriter()
        writer.add(sequence)
        writer.add(UInt64(record.count))
        writer.add(XXHash64.hash(record) ^ sequence)
        return writer.data + record
    }

    /// The checksums of whole blocks, and of the last one.
    static func table(_ checksums: [UInt64]) -> Data {
        var writer = RecordWriter()
        for checksum in checksums { writer.add(checksum) }
        return writer.data
    }

    /// Puts another head in the place of the present one; gives false where there is no room.
    func replace(with response: StoredResponse) throws -> Bool {
        let slot = Self.slot(response.record, sequence: sequence + 1)
        guard slot.count <= layout.slotBytes else { return false }
        try file.write(slot, at: Int64(layout.slotOffset(1 - self.slot)))
        return true
    }
}
