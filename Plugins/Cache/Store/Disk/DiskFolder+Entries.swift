// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

// How entries are added and removed (`FORMAT.md`, "packs"). All but look-ups need the lock.
extension DiskFolder {
    /// The most variants of one key.
    private static let maxVariants = 8

    /// The entry at a place; nil if there is none.
    func entry(_ place: DiskIndex.Place, forWriting: Bool = false) throws -> EntryFile? {
        func file(in packs: Folder?) throws -> CacheFile? {
            try packs.flatMap {
                try CacheFile.existing(Self.name(place.file), in: $0, forWriting: forWriting)
            }
        }
        guard let file = try file(in: foundPacks()) ?? file(in: foundPacks(again: true)) else {
            return nil
        }
        return try EntryFile(file, at: place)
    }

    /// Keeps entries as a new file, if there is room.
    ///
    /// If others have removed the key's entries meanwhile, an entry is not kept, and what it was to replace
    /// goes.
    /// - Throws: The reason if the file cannot be made, or its entries cannot be added to the index.
    func keep(_ pack: DiskPack, _ index: DiskIndex, _ usage: inout CacheUsage) throws {
        var pack = pack
        try keep(pack.entries, bytes: Int64(pack.bytes), index, &usage) { name, packs in
            try pack.write(as: name, in: packs)
        }
    }

    /// Keeps a temporary file, which has a single entry, if there is room.
    func keep(
        _ response: StoredResponse, _ file: TemporaryEntry, bytes: Int64, _ index: DiskIndex,
        _ usage: inout CacheUsage
    ) throws {
        let entry = DiskPack.Entry(
            response: response, mark: index.mark(of: response.key), removals: nil,
            offset: DiskPack.openingBytes, bytes: 0)
        try keep([entry], bytes: bytes, index, &usage) { name, packs in
            try file.folder.move(file.name, to: packs, as: name)
        }
    }

    private func keep(
        _ entries: [DiskPack.Entry], bytes: Int64, _ index: DiskIndex, _ usage: inout CacheUsage,
        making make: (_ name: String, _ packs: Folder) throws -> Void
    ) throws {
        let room = Self.room(bytes)
        guard try makeRoom(room, index, &usage) else {
            // The entries that they were to replace are out of date.
            for entry in entries { try removeAll(entry.mark, index, &usage) }
            return
        }
        usage.bytes += room
        let number: UInt32
        do {
            try note(usage)
            let packs = try packs()
            number = try Self.newNumber(in: packs)
            try make(Self.name(number), packs)
        } catch {
            usage.bytes -= room
            throw error
        }
        for entry in entries { try add(entry, number, index, &usage) }
    }

    private static func newNumber(in packs: Folder) throws -> UInt32 {
        while true {
            let number = UInt32.random(in: 1...UInt32.max)
            if try packs.status(of: name(number)) == nil { return number }
        }
    }

    // Replaces the same variant of the key, or else the oldest one if there are too many.
    private func add(
        _ entry: DiskPack.Entry, _ file: UInt32, _ index: DiskIndex, _ usage: inout CacheUsage
    ) throws {
        let response = entry.response
        let place = DiskIndex.Place(
            file: file, offset: entry.offset, bytes: entry.bytes, mark: entry.mark)
        let gone = try index.add(place, since: entry.removals) { before in
            let same = before.filter { place in
                guard let other = try? self.entry(place)?.response else { return true }
                return other.key == response.key && other.variant == response.variant
            }
            return same.isEmpty && before.count >= Self.maxVariants ? [before[0]] : same
        }
        usage.entries += 1
        if let gone {
            for place in gone { release(place, &usage) }
        } else {
            release(place, &usage)
            // What it was to replace is older still.
            try removeAll(entry.mark, index, &usage)
        }
    }

    // Frees the room of an entry that the index no longer names. If that fails, the room comes back when its
    // file goes.
    private func release(_ place: DiskIndex.Place, _ usage: inout CacheUsage) {
        usage.entries -= 1
        let name = Self.name(place.file)
        guard let packs = try? foundPacks(),
            let file = try? CacheFile.existing(name, in: packs, forWriting: true),
            let count = try? file.numbers(1, at: 0)[0]
        else { return }
        if count > 1 {
            try? file.write([count - 1], at: 0)
            // Nobody must be able to read a removed entry.
            try? file.write(Data(count: place.bytes), at: Int64(place.offset))
        } else if let size = try? file.state().size, (try? packs.remove(name)) == true {
            usage.bytes -= Self.room(size)
        }
    }

    /// Removes an entry, if it is still there.
    /// - Returns: Whether it was.
    @discardableResult
    func remove(
        _ place: DiskIndex.Place, _ index: DiskIndex, _ usage: inout CacheUsage
    ) throws -> Bool {
        guard try index.remove(place) else { return false }
        release(place, &usage)
        return true
    }

    /// Removes all entries of a key.
    func removeAll(_ mark: UInt64, _ index: DiskIndex, _ usage: inout CacheUsage) throws {
        for place in try index.places(mark) { try remove(place, index, &usage) }
    }

    /// Replaces an entry's head, if the entry is still there.
    /// - Returns: False if the head does not fit: the entry was removed then.
    func update(
        _ old: StoredResponse, to response: StoredResponse, _ index: DiskIndex,
        _ usage: inout CacheUsage
    ) throws -> Bool {
        for place in try index.places(index.mark(of: old.key)) {
            guard let entry = try entry(place, forWriting: true), entry.response.key == old.key,
                entry.response.variant == old.variant,
                entry.response.responseTime == old.responseTime
            else { continue }
            if try entry.replace(with: response) { return true }
            try remove(place, index, &usage)
            return false
        }
        return true
    }
}
