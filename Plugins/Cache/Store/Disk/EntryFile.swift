// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TurnpikeCore
import TurnpikeSupport

/// The format of a stored response in a file (`FORMAT.md`, "entries").
struct EntryFile {
    static let blockBytes = 65_536
    private static let openingBytes = 64
    private static let slotOpeningBytes = 24
    private static let magic: UInt64 = 0x4568_6361_4370_7254  // "TrpCachE"
    // Earlier versions had other rules about the callers that may get an entry.
    private static let version: UInt32 = 4

    struct Layout: Sendable {
        let start: Int64
        let slotBytes: Int
        let length: Int64

        var headBytes: Int { EntryFile.openingBytes + 2 * slotBytes }
        var contentOffset: Int64 { start + Int64(headBytes) }
        var blockCount: Int { Int((length + Int64(blockBytes) - 1) / Int64(blockBytes)) }
        var tableOffset: Int64 { contentOffset + length }
        var end: Int64 { tableOffset + Int64(8 * blockCount) }
        func slotOffset(_ slot: Int) -> Int { EntryFile.openingBytes + slot * slotBytes }
    }

    let file: CacheFile
    let layout: Layout
    let response: StoredResponse
    let sequence: UInt64
    let slot: Int
    // The first bytes of a large entry, or all bytes of a small entry.
    private let beginning: Data
    private let used: Int

    /// Reads an entry's head, or returns nil if the place has no complete entry of this version.
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

    /// Returns the content, or nil if the content is damaged.
    ///
    /// A small entry is read and checked at once, and a large entry while the body is read.
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

    /// The precision, in seconds, of the time of a file's last use.
    static let useInterval = 60

    // If the update fails, the store removes the file earlier than other files.
    func markUsed() { if abs(CacheFile.now - used) > Self.useInterval { file.touch() } }

    // MARK: Writing

    static func addHead(
        of response: StoredResponse, length: Int64, to writer: inout RecordWriter
    ) -> Layout {
        let start = writer.bytes.count
        let slot = slot(response, sequence: 1)
        let layout = Layout(start: Int64(start), slotBytes: room(slot.count), length: length)
        writer.add(magic)
        writer.add(version)
        writer.add(UInt32(layout.slotBytes))
        writer.add(UInt64(length))
        writer.add(XXHash64.hash(writer.bytes[start...]))
        writer.addZeros(openingBytes - 32)
        writer.add(Data(slot))
        writer.addZeros(2 * layout.slotBytes - slot.count)
        return layout
    }

    private static func slot(_ response: StoredResponse, sequence: UInt64) -> [UInt8] {
        var record = RecordWriter()
        response.write(&record)
        var slot = RecordWriter()
        slot.add(sequence)
        slot.add(UInt64(record.bytes.count))
        slot.add(XXHash64.hash(record.bytes) ^ sequence)
        return slot.bytes + record.bytes
    }

    // Returns the length of a slot with space for growth. Most new heads differ only in dates.
    private static func room(_ slot: Int) -> Int { (slot + slot / 8 + 64 + 63) / 64 * 64 }

    static func checksums(_ content: Data) -> [UInt64] {
        stride(from: 0, to: content.count, by: blockBytes).map { start in
            XXHash64.hash(content.dropFirst(start).prefix(blockBytes))
        }
    }

    /// Replaces the head, or returns false if the new head or its number does not fit.
    func replace(with response: StoredResponse) throws -> Bool {
        guard sequence < .max else { return false }
        let new = Self.slot(response, sequence: sequence + 1)
        guard new.count <= layout.slotBytes else { return false }
        try file.write(new, at: layout.start + Int64(layout.slotOffset(1 - slot)))
        return true
    }
}
