import Foundation
import TurnpikeCore

/// A stored response in a file.
///
/// ```
/// opening   64 bytes: magic, version, size of a slot, length of the content, checksum
/// slot A    sequence, length, checksum, record: the response without its content
/// slot B    the same; of those whose checksum is right the one with the higher sequence counts
/// content
/// table     the checksum of each block of the content
/// ```
///
/// What ends before it says is not whole, and no entry. A new head is written over the slot that does
/// not count: a write that was torn leaves the old one.
struct EntryFile {
    static let blockBytes = 65_536
    private static let openingBytes = 64
    private static let slotOpeningBytes = 24
    private static let magic: UInt64 = 0x4568_6361_4370_7254  // "TrpCachE"
    // 4: entries of earlier ones were kept for other callers than today's rules say.
    private static let version: UInt32 = 4

    /// What the opening says.
    struct Layout: Sendable {
        /// Where in the file the entry begins.
        let start: Int64
        let slotBytes: Int
        let length: Int64

        var headBytes: Int { EntryFile.openingBytes + 2 * slotBytes }
        var contentOffset: Int64 { start + Int64(headBytes) }
        var blockCount: Int { Int((length + Int64(blockBytes) - 1) / Int64(blockBytes)) }
        var tableOffset: Int64 { contentOffset + length }
        /// Where in the file the entry ends.
        var end: Int64 { tableOffset + Int64(8 * blockCount) }
        /// Where in the entry a slot begins.
        func slotOffset(_ slot: Int) -> Int { EntryFile.openingBytes + slot * slotBytes }
    }

    let file: CacheFile
    let layout: Layout
    let response: StoredResponse
    let sequence: UInt64
    let slot: Int
    // The beginning of the entry: all of it, unless it is large.
    private let beginning: Data
    private let used: Int

    /// Reads an entry's head, or gives nil where there is no whole entry of this version.
    init?(_ file: CacheFile, at place: DiskIndex.Place) throws {
        let start = Int64(place.offset)
        var bytes = try file.read(
            place.bytes > 0 ? place.bytes : DiskPack.maxSharingBytes, at: start)
        let state = try file.state()
        guard let layout = Self.layout(bytes, at: start), layout.end <= state.size else {
            return nil
        }
        if bytes.count < layout.headBytes { bytes = try file.read(layout.headBytes, at: start) }
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
        used = state.used
        sequence = best.sequence
        slot = best.slot
    }

    private static let maxSlotBytes = 4 << 20

    private static func layout(_ bytes: Data, at start: Int64) -> Layout? {
        guard bytes.count >= openingBytes else { return nil }
        var reader = RecordReader(bytes.prefix(openingBytes))
        guard reader.number64() == magic, reader.number32() == version,
            let slotBytes = reader.number32(), let length = reader.number64(),
            let checksum = reader.number64(), checksum == XXHash64.hash(bytes.prefix(24)),
            slotBytes <= maxSlotBytes, length <= 1 << 50
        else { return nil }
        return Layout(start: start, slotBytes: Int(slotBytes), length: Int64(length))
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
        let isRead = beginning.count >= layout.end - layout.start
        if isRead {
            table = beginning.dropFirst(Int(layout.tableOffset - layout.start))
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
        guard isRead else { return content }
        let data = beginning.dropFirst(layout.headBytes).prefix(Int(layout.length))
        guard data.count == layout.length, content.isRight(data, from: 0) else { return nil }
        return CachedData(Data(data))
    }

    /// How exactly it is known when a file was used, in seconds.
    static let useInterval = 60

    /// Remembers that the file was used; where that fails, it goes sooner.
    func markUsed() { if abs(CacheFile.now - used) > Self.useInterval { file.touch() } }

    // MARK: Writing

    /// Adds what stands before the content.
    /// - Parameters:
    ///   - response: The response.
    ///   - length: The bytes of its content.
    ///   - writer: The file from its beginning on.
    /// - Returns: The entry's layout.
    static func addHead(
        of response: StoredResponse, length: Int64, to writer: inout RecordWriter
    ) -> Layout {
        let start = writer.count
        writer.addZeros(openingBytes)
        let slot = addSlot(response, sequence: 1, to: &writer)
        let layout = Layout(start: Int64(start), slotBytes: room(slot), length: length)
        writer.addZeros(start + layout.headBytes - writer.count)
        let form = UInt64(version) | UInt64(layout.slotBytes) << 32
        writer.set(magic, form, UInt64(layout.length), at: start)
        writer.set(writer.checksum(from: start, most: 24), at: start + 24)
        return layout
    }

    // Returns the slot's length.
    private static func addSlot(
        _ response: StoredResponse, sequence: UInt64, to writer: inout RecordWriter
    ) -> Int {
        let start = writer.count
        writer.addZeros(slotOpeningBytes)
        let record = writer.count
        response.write(&writer)
        writer.set(
            sequence, UInt64(writer.count - record), writer.checksum(from: record) ^ sequence,
            at: start)
        return writer.count - start
    }

    // That of a slot, so that what is in it may grow a little: most new heads have other dates only.
    private static func room(_ slot: Int) -> Int { (slot + slot / 8 + 64 + 63) / 64 * 64 }

    /// The checksum of each block.
    static func checksums(_ content: Data) -> [UInt64] {
        stride(from: 0, to: content.count, by: blockBytes).map { start in
            XXHash64.hash(content.dropFirst(start).prefix(blockBytes))
        }
    }

    /// Puts another head in the place of the present one; gives false where there is no room.
    func replace(with response: StoredResponse) throws -> Bool {
        var slot = RecordWriter()
        guard Self.addSlot(response, sequence: sequence + 1, to: &slot) <= layout.slotBytes else {
            return false
        }
        try file.write(slot, at: layout.start + Int64(layout.slotOffset(1 - self.slot)))
        return true
    }
}
