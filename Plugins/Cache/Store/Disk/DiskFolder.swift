import Foundation
import Synchronization
import TurnpikeCore

/// The folder of a disk store: names, the lock that processes share, and the bound.
///
/// All that changes entries is done under the lock, in which stands how much there is; a process
/// that dies gives it back. Whoever opens the folder, or makes room in it, counts anew. It is used by
/// one queue.
// SAFETY: one serial queue uses it; what others use is static, or has a lock of its own.
final class DiskFolder: @unchecked Sendable {
    let root: String
    private let maxBytes: Int64
    private var lockFile: CacheFile?
    private var temporaries: UInt64 = 0
    // What stands in the lock's file.
    private var noted: CacheUsage?
    // What there is, while the lock is held for several changes.
    private var held: CacheUsage?
    private let openFilter = Mutex<DiskFilter?>(nil)

    /// The most variants of one key.
    static let maxVariants = 8

    init(root: String, maxBytes: Int64) {
        self.root = root
        self.maxBytes = maxBytes
    }

    // MARK: The lock

    /// The folder's filter, from when it was first opened.
    var filter: DiskFilter? { openFilter.withLock { $0 } }

    /// Does something that changes entries, within the lock.
    func change<Value>(_ action: (inout CacheUsage) throws -> Value) throws -> (Value, CacheUsage) {
        if var usage = held {
            usage.evictions = 0
            defer { held = usage }
            let value = try action(&usage)
            return (value, usage)
        }
        // Somebody has removed the folder: other processes share another lock, and filter, by now.
        if let lockFile, lockFile.isRemoved { self.lockFile = nil }
        let lock = try opened()
        guard lock.lock() else { throw FileFault("lock the cache") }
        defer { lock.unlock() }
        noted = try read(lock)
        var usage = try noted ?? count()
        // What cannot be noted is put right when the folder is counted.
        defer { if usage != noted { try? write(usage, lock) } }
        let value = try action(&usage)
        return (value, usage)
    }

    /// Does several changes within the lock, which is taken once; where it cannot be, each of them
    /// will say so.
    func together(_ changes: () -> Void) {
        let isDone = try? change { usage in
            held = usage
            changes()
            usage = held ?? usage
            held = nil
        }
        if isDone == nil { changes() }
    }

    /// Notes a size before it is taken up, so that a death in between counts too much and not too
    /// little.
    ///
    /// Among several changes it notes room for the next ones too, and what they took at their end.
    func note(_ usage: CacheUsage) throws {
        guard let lockFile else { return }
        var usage = usage
        if held != nil {
            if let noted, usage.entries <= noted.entries, usage.bytes <= noted.bytes { return }
            usage.entries += Self.entriesAhead
            usage.bytes += Self.bytesAhead
        }
        try write(usage, lockFile)
    }

    private static let entriesAhead = 64
    private static let bytesAhead: Int64 = 256 << 10

    /// Opens the folder, and its filter, where that is still to be done.
    func open() throws { _ = try opened() }

    private func opened() throws -> CacheFile {
        if let lockFile { return lockFile }
        try FileManager.default.createDirectory(
            atPath: root + "/tmp", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let lock = try CacheFile.shared(root + "/lock")
        guard lock.lock() else { throw FileFault("lock the cache") }
        defer { lock.unlock() }
        let filter = try DiskFilter(root + "/filter", maxBytes: maxBytes)
        openFilter.withLock { $0 = filter }
        try write(try count(), lock)
        lockFile = lock
        return lock
    }

    private func read(_ lock: CacheFile) throws -> CacheUsage? {
        let data = try lock.read(24, at: 0)
        var reader = RecordReader(data)
        guard let bytes = reader.number64(), let entries = reader.number64(),
            reader.number64() == XXHash64.hash(data.prefix(16)), bytes < 1 << 60, entries < 1 << 40
        else { return nil }
        return CacheUsage(entries: Int(entries), bytes: Int64(bytes))
    }

    private func write(_ usage: CacheUsage, _ lock: CacheFile) throws {
        var writer = RecordWriter()
        writer.add(UInt64(max(usage.bytes, 0)))
        writer.add(UInt64(max(usage.entries, 0)))
        writer.add(XXHash64.hash(writer.data))
        try lock.write(writer.data, at: 0)
        noted = CacheUsage(entries: usage.entries, bytes: usage.bytes)
    }

    // MARK: The bound

    /// What a file of a size takes.
    static func room(_ size: Int64) -> Int64 { (size + 4095) / 4096 * 4096 }

    // Counts what there is, and removes what dead processes left behind.
    private func count() throws -> CacheUsage {
        for name in try Self.names(root + "/tmp") {
            let path = "\(root)/tmp/\(name)"
            // Who writes a file holds its lock. What cannot be removed stays for the next count.
            if let file = try? CacheFile.existing(path), file.lock(waiting: false) {
                _ = try? CacheFile.remove(path)
            }
        }
        var usage = CacheUsage()
        var marks: [UInt64] = []
        for path in try Self.paths(root) {
            guard let state = try CacheFile.state(of: path) else { continue }
            usage.entries += 1
            usage.bytes += Self.room(state.size)
            marks.append(EntryName.mark(of: String(path.suffix(42))))
        }
        // Without it there are misses, and no more.
        try? filter?.reset(to: marks)
        return usage
    }

    /// Makes room, if there is none, by removing what was not used for longest.
    /// - Returns: Whether there is room now.
    func makeRoom(_ bytes: Int64, _ usage: inout CacheUsage) throws -> Bool {
        if usage.bytes + bytes <= maxBytes { return true }
        guard bytes <= maxBytes else { return false }
        usage = try count()
        var files = try Self.paths(root).compactMap { path in
            try CacheFile.state(of: path).map { state in
                (path: path, used: state.used, room: Self.room(state.size))
            }
        }
        files.sort { $0.used < $1.used }
        // A tenth more than is needed, so that the search is paid for by many.
        let aim = max(0, min(maxBytes - bytes, maxBytes / 10 * 9))
        for file in files where usage.bytes > aim {
            guard try CacheFile.remove(file.path) else { continue }
            usage.bytes -= file.room
            usage.entries -= 1
            usage.evictions += 1
        }
        return usage.bytes + bytes <= maxBytes
    }

    /// Removes an entry's file.
    func remove(_ path: String, _ usage: inout CacheUsage) throws {
        guard let size = try CacheFile.state(of: path)?.size,
            try CacheFile.remove(path)
        else { return }
        usage.bytes -= Self.room(size)
        usage.entries -= 1
    }

    // MARK: Entries

    /// Puts another head in the place of an entry's.
    /// - Returns: Whether that is done: false where it does not fit, and the entry was removed.
    func update(
        _ old: StoredResponse, to response: StoredResponse, _ usage: inout CacheUsage
    ) throws -> Bool {
        let stem = Self.stem(root, old.key)
        for slot in 0..<Self.maxVariants {
            let path = Self.path(stem, slot)
            guard let file = try CacheFile.existing(path, forWriting: true),
                let entry = try EntryFile(file), entry.response.key == old.key,
                entry.response.variant == old.variant,
                entry.response.responseTime == old.responseTime
            else { continue }
            if try entry.replace(with: response) { return true }
            try remove(path, &usage)
            return false
        }
        return true
    }

    /// Removes all entries of a key.
    /// - Throws: What keeps one of them from being removed; the others are.
    func removeAll(of key: CacheKey, _ usage: inout CacheUsage) throws {
        let stem = Self.stem(root, key)
        var fault: (any Error)?
        for slot in 0..<Self.maxVariants {
            do { try remove(Self.path(stem, slot), &usage) } catch { fault = error }
        }
        if let fault { throw fault }
    }

    // MARK: New files

    /// Makes a file that goes with its writer, unless it is renamed.
    func temporary() throws -> (path: String, file: CacheFile) {
        temporaries += 1
        _ = try opened()
        let name = "\(ProcessInfo.processInfo.processIdentifier)-\(temporaries)-"
        let path = "\(root)/tmp/" + name + String(UInt32.random(in: 0...UInt32.max), radix: 16)
        let file: CacheFile
        do {
            file = try CacheFile.new(path)
        } catch let fault as FileFault where fault.code == ENOENT {
            // Somebody has removed the folder.
            lockFile = nil
            _ = try opened()
            file = try CacheFile.new(path)
        }
        _ = file.lock(waiting: false)
        return (path, file)
    }
}
