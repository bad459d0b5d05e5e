// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

// Counting, and the bound (`FORMAT.md`, "room").
extension DiskFolder {
    /// The files of entries, counted.
    struct Census {
        struct File {
            let number: UInt32
            let entries: Int
            let room: Int64
            /// When one of its entries was last used, in seconds since 1970.
            let used: Int
        }

        let files: [File]

        var usage: CacheUsage {
            CacheUsage(
                entries: files.reduce(0) { $0 + $1.entries },
                bytes: files.reduce(0) { $0 + $1.room })
        }
    }

    /// The room that a file of some size takes.
    static func room(_ size: Int64) -> Int64 { (size + 4095) / 4096 * 4096 }

    /// The name of a file of entries.
    static func name(_ number: UInt32) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    /// Counts what there is, and removes what dead processes left behind, within the lock.
    func census(_ index: DiskIndex) throws -> Census {
        if let folder = try foundTemporaries() {
            for name in try folder.names() {
                // A living writer holds the lock. A file that cannot be removed stays for the next count.
                if let file = try? CacheFile.existing(name, in: folder),
                    file.lock()
                {
                    _ = try? folder.remove(name)
                }
            }
        }
        // A folder that cannot be listed is an error, and not an empty one.
        let packs = try foundPacks(again: true)
        let numbers = Set(try packs?.names().compactMap { UInt32($0, radix: 16) } ?? [])
        let counts = try index.keep(only: numbers)
        var files: [Census.File] = []
        guard let packs else { return Census(files: []) }
        // A use in the future was noted by a clock that was wrong: the file goes first.
        let latest = CacheFile.now + EntryFile.useInterval
        for number in numbers {
            let (entries, name) = (counts[number] ?? 0, Self.name(number))
            // The index does not name it: nobody can find its entries.
            if entries == 0, (try? packs.remove(name)) != nil { continue }
            guard let state = try CacheFile.state(of: name, in: packs) else { continue }
            files.append(
                Census.File(
                    number: number, entries: entries, room: Self.room(state.size),
                    used: state.used > latest ? 0 : state.used))
        }
        return Census(files: files)
    }

    /// Makes room, if there is none, by removing the files that were not used for longest.
    /// - Returns: Whether there is room now.
    func makeRoom(_ bytes: Int64, _ index: DiskIndex, _ usage: inout CacheUsage) throws -> Bool {
        let maxBytes = max(0, maxBytes - index.bytes)
        if usage.bytes + bytes <= maxBytes { return true }
        guard bytes <= maxBytes else { return false }
        let files = try census(index).files
        (usage.entries, usage.bytes) = (0, 0)
        // A tenth of the bound is freed at once, so that the next responses need no search.
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
