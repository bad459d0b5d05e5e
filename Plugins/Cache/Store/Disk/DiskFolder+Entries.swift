// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// Adds and removes entries (`FORMAT.md`, "packs"). All methods except look-ups need the lock.
extension DiskFolder {
    private static let maxVariants = 8

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

    /// Stores entries as a new file, if there is space.
    ///
    /// If another process has removed a key's entries, the new entry is not stored, and the old
    /// entries of the key are removed.
    func keep(_ pack: DiskPack, _ index: DiskIndex, _ usage: inout CacheUsage) throws {
        var pack = pack
        try keep(pack.entries, bytes: Int64(pack.bytes), index, &usage) { name, packs in
            try pack.write(as: name, in: packs)
        }
    }

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
            // The new entries are not stored, and the old entries are out of date.
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

    // Replaces the entry of the same variant. If there are too many variants, replaces the oldest.
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
            // The other entries of the key are out of date too.
            try removeAll(entry.mark, index, &usage)
        }
    }

    // Frees the space of an entry after its removal from the index. If freeing fails, the removal
    // of the whole file frees the space.
    private func release(_ place: DiskIndex.Place, _ usage: inout CacheUsage) {
        usage.entries -= 1
        let name = Self.name(place.file)
        guard let packs = try? foundPacks(),
            let file = try? CacheFile.existing(name, in: packs, forWriting: true),
            let count = try? file.numbers(1, at: 0)[0]
        else { return }
        if count > 1 {
            try? file.write([count - 1], at: 0)
            // A removed entry must not be readable.
            try? file.write(Data(count: place.bytes), at: Int64(place.offset))
        } else if let size = try? file.state().size, (try? packs.remove(name)) == true {
            usage.bytes -= Self.room(size)
        }
    }

    @discardableResult
    func remove(
        _ place: DiskIndex.Place, _ index: DiskIndex, _ usage: inout CacheUsage
    ) throws -> Bool {
        guard try index.remove(place) else { return false }
        release(place, &usage)
        return true
    }

    func removeAll(_ mark: UInt64, _ index: DiskIndex, _ usage: inout CacheUsage) throws {
        for place in try index.places(mark) { try remove(place, index, &usage) }
    }

    // Replaces an existing entry's head. If the head is too long, removes the entry and returns
    // false.
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

// Counts entries, and enforces the limit (`FORMAT.md`, "room").
extension DiskFolder {
    struct Census {
        struct File {
            let number: UInt32
            let entries: Int
            let room: Int64
            /// The time of the last use in seconds since 1970.
            let used: Int
        }

        let files: [File]

        var usage: CacheUsage {
            CacheUsage(
                entries: files.reduce(0) { $0 + $1.entries },
                bytes: files.reduce(0) { $0 + $1.room })
        }
    }

    /// The disk space of a file, in whole blocks of 4096 bytes.
    static func room(_ size: Int64) -> Int64 { (size + 4095) / 4096 * 4096 }

    static func name(_ number: UInt32) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    // Counts the entries, and removes files of ended processes. The caller holds the lock.
    func census(_ index: DiskIndex) throws -> Census {
        if let folder = try foundTemporaries() {
            for name in try folder.names() {
                // The writer of the file holds the file's lock while the writer runs. The next
                // count retries a failed removal.
                if let file = try? CacheFile.existing(name, in: folder),
                    file.lock()
                {
                    _ = try? folder.remove(name)
                }
            }
        }
        // If the folder cannot be listed, the count throws an error instead of returning zero.
        let packs = try foundPacks(again: true)
        let numbers = Set(try packs?.names().compactMap { UInt32($0, radix: 16) } ?? [])
        let counts = try index.keep(only: numbers)
        var files: [Census.File] = []
        guard let packs else { return Census(files: []) }
        // A time in the future comes from a wrong clock. A file with such a time is removed first.
        let latest = CacheFile.now + EntryFile.useInterval
        for number in numbers {
            let (entries, name) = (counts[number] ?? 0, Self.name(number))
            // The index contains no entry of the file, and no look-up finds the file's entries.
            if entries == 0, (try? packs.remove(name)) != nil { continue }
            guard let state = try CacheFile.state(of: name, in: packs) else { continue }
            files.append(
                Census.File(
                    number: number, entries: entries, room: Self.room(state.size),
                    used: state.used > latest ? 0 : state.used))
        }
        return Census(files: files)
    }

    /// Frees space if necessary, by removing the least recently used files.
    func makeRoom(_ bytes: Int64, _ index: DiskIndex, _ usage: inout CacheUsage) throws -> Bool {
        let maxBytes = max(0, maxBytes - index.bytes)
        if usage.bytes + bytes <= maxBytes { return true }
        guard bytes <= maxBytes else { return false }
        let files = try census(index).files
        (usage.entries, usage.bytes) = (0, 0)
        // A tenth of the limit is freed at once for the next responses.
        let aim = max(0, min(maxBytes - bytes, maxBytes / 10 * 9))
        var kept: Set<UInt32> = []
        let packs = try foundPacks()
        for file in files.sorted(by: { $0.used > $1.used }) {
            if usage.bytes + file.room > aim, (try? packs?.remove(Self.name(file.number))) != nil {
                usage.evictions += file.entries
                continue
            }
            kept.insert(file.number)
            usage.entries += file.entries
            usage.bytes += file.room
        }
        _ = try index.keep(only: kept)
        return usage.bytes + bytes <= maxBytes
    }
}
