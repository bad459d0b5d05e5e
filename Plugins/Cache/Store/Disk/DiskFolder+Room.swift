import Foundation

// What there is, and the bound.
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

    /// What a file of a size takes.
    static func room(_ size: Int64) -> Int64 { (size + 4095) / 4096 * 4096 }

    /// The path of a file of entries.
    func path(_ number: UInt32) -> String {
        let digits = String(number, radix: 16)
        return "\(root)/packs/" + String(repeating: "0", count: 8 - digits.count) + digits
    }

    /// Counts what there is, and removes what dead processes left behind, within the lock.
    func census(_ index: DiskIndex) throws -> Census {
        for name in try Self.names(root + "/tmp") {
            let path = "\(root)/tmp/\(name)"
            // Who writes a file holds its lock. What cannot be removed stays for the next count.
            if let file = try? CacheFile.existing(path), file.lock(waiting: false) {
                _ = try? CacheFile.remove(path)
            }
        }
        let numbers = Set(try Self.names(root + "/packs").compactMap { UInt32($0, radix: 16) })
        let counts = try index.keep(only: numbers)
        var files: [Census.File] = []
        for number in numbers {
            let entries = counts[number] ?? 0
            // Of that nobody will ever know.
            if entries == 0, (try? CacheFile.remove(path(number))) != nil { continue }
            guard let state = try CacheFile.state(of: path(number)) else { continue }
            files.append(
                Census.File(
                    number: number, entries: entries, room: Self.room(state.size), used: state.used)
            )
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
        // A tenth more than is needed, so that the search is paid for by many.
        let aim = max(0, min(maxBytes - bytes, maxBytes / 10 * 9))
        var kept: Set<UInt32> = []
        for file in files.sorted(by: { $0.used > $1.used }) {
            if usage.bytes + file.room > aim, (try? CacheFile.remove(path(file.number))) != nil {
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

    /// What stands in a folder; nothing where there is none.
    /// - Throws: What keeps the folder from being read: it must not be taken for an empty one.
    private static func names(_ path: String) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            if CacheFile.isFolder(path) { throw error }
            return []
        }
    }
}
