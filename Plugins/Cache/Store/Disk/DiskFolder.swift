import Foundation
import Synchronization
import TurnpikeCore

/// The folder of a disk store: its lock, which processes share, and what stands under it.
///
/// ```
/// lock    how much there is
/// index   where the entries are
/// packs   files of entries, which are called by their numbers
/// tmp     what is being written and is too large to wait in memory
/// ```
///
/// Each level is held by its descriptor (``/TurnpikeCore/Folder``): links, and what is another user's or
/// open to others' writing, are refused.
///
/// All that changes entries is done under the lock; a process that dies gives it back. Whoever opens
/// the folder, or makes room in it, counts anew. It is used by one queue.
// SAFETY: one serial queue uses it; what others use is static, or has a lock of its own.
final class DiskFolder: @unchecked Sendable {
    private struct Opened {
        let root: Folder
        let index: DiskIndex
        var packs: Folder?
    }

    let maxBytes: Int64
    private let directory: String
    private let patience: Duration
    private var isPatient = true
    private var lockFile: CacheFile?
    private var temporaries: UInt64 = 0
    // What stands in the lock's file.
    private var noted: CacheUsage?
    // What there is, while the lock is held for several changes.
    private var held: CacheUsage?
    private let opened = Mutex<Opened?>(nil)
    /// Entries that are to share the next file; between two portions of changes there are none, and
    /// its memory is kept for the next one.
    var gathered: DiskPack

    // Entries of another layout would stand in a folder beside this one.
    private static let version = "v2"

    /// Creates the folder's side of a process; nothing is touched yet.
    /// - Parameters:
    ///   - directory: The folder that the user has named.
    ///   - maxBytes: The most bytes.
    ///   - patience: For how long to wait for another process that has the lock.
    init(directory: String, maxBytes: Int64, patience: Duration) {
        self.directory = directory
        self.maxBytes = maxBytes
        self.patience = patience
        gathered = DiskPack(maxBytes: Int(min(maxBytes / 64, Int64(DiskPack.maxSharedBytes))))
    }

    /// Whether there is such a folder in a directory.
    static func exists(in directory: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(directory)/\(version)/lock")
    }

    // MARK: What is open

    /// The folder's index, from when it was first opened.
    var index: DiskIndex? { opened.withLock { $0?.index } }

    /// The folder's index, for look-ups; nil if there is none yet.
    func foundIndex() throws -> DiskIndex? {
        try opened.withLock { opened in
            if let opened { return opened.index }
            guard
                let root = try Self.ifThere({ () throws(FileFault) in
                    try Folder.named(directory, .own).folder(Self.version)
                }),
                let index = try DiskIndex.existing(in: root)
            else { return nil }
            opened = Opened(root: root, index: index)
            return index
        }
    }

    /// The folder of the files of entries, for reading; nil if there is none yet.
    /// - Parameter again: Whether to find the one that is there now, where another process may have
    ///   removed the one that was found, and made a new one.
    /// - Returns: The folder.
    /// - Throws: What keeps it from being opened.
    func foundPacks(again: Bool = false) throws -> Folder? {
        try opened.withLock { opened in
            if let packs = opened?.packs, !again || packs.isStillThere { return packs }
            guard let root = opened?.root else { return nil }
            let packs = try Self.ifThere { () throws(FileFault) in try root.folder("packs") }
            opened?.packs = packs
            return packs
        }
    }

    /// The folder of the files of entries, for new ones; it is made if there is none, or none any
    /// more.
    func packs() throws -> Folder {
        try opened.withLock { opened in
            if let packs = opened?.packs, packs.isStillThere { return packs }
            guard let root = opened?.root else {
                throw FileFault("find the cache's folder", code: ENOENT)
            }
            let packs = try root.folder("packs", making: true)
            opened?.packs = packs
            return packs
        }
    }

    /// The folder of what is being written; nil if there is none.
    func foundTemporaries() throws -> Folder? {
        guard let root = opened.withLock({ $0?.root }) else { return nil }
        return try Self.ifThere { () throws(FileFault) in try root.folder("tmp") }
    }

    private static func ifThere(
        _ open: () throws(FileFault) -> Folder
    ) throws(FileFault) -> Folder? {
        do {
            return try open()
        } catch  where error.code == ENOENT {
            return nil
        }
    }

    // MARK: The lock

    /// Does something that changes entries, within the lock.
    func change<Value>(
        _ action: (DiskIndex, inout CacheUsage) throws -> Value
    ) throws -> (Value, CacheUsage) {
        if var usage = held, let index {
            usage.evictions = 0
            defer { held = usage }
            let value = try action(index, &usage)
            return (value, usage)
        }
        let (lock, index) = try locked()
        defer { lock.unlock() }
        noted = try read(lock)
        var usage = try noted ?? census(index).usage
        // What cannot be noted is put right when the folder is counted.
        defer { if usage != noted { try? write(usage, lock) } }
        let value = try action(index, &usage)
        return (value, usage)
    }

    /// Does several changes within the lock, which is taken once.
    /// - Throws: What keeps it from being taken; nothing was done then.
    func together(_ changes: (DiskIndex) throws -> Void) throws {
        _ = try change { index, usage in
            held = usage
            defer {
                usage = held ?? usage
                held = nil
            }
            try changes(index)
        }
    }

    /// Notes a size before it is taken up, so that a death in between counts too much and not too
    /// little.
    func note(_ usage: CacheUsage) throws { if let lockFile { try write(usage, lockFile) } }

    /// Opens the folder, and makes what is missing of it.
    /// - Throws: What keeps entries from being stored in it.
    func open() throws {
        let (lock, _) = try locked()
        defer { lock.unlock() }
        _ = try packs()
    }

    // The lock, which is taken, and the index. If somebody has removed or moved the folder, or made a
    // damaged index anew, other processes share others than ours by now.
    private func locked() throws -> (CacheFile, DiskIndex) {
        for _ in 0..<3 {
            let (lock, opened) = try openedFolder()
            try take(lock)
            if !lock.isRemoved, !opened.index.isRemoved, opened.root.isStillThere {
                return (lock, opened.index)
            }
            lock.unlock()
            lockFile = nil
        }
        throw FileFault("find the cache's lock", code: ENOENT)
    }

    // Who has the lock may have been stopped: then the changes that come next do not wait for it,
    // until it was taken again.
    private func take(_ lock: CacheFile) throws {
        if isPatient ? lock.lock(within: patience) : lock.lockSoon() { return isPatient = true }
        if isPatient { lockFile = nil }
        isPatient = false
        throw FileFault("lock the cache, which another process has", code: EWOULDBLOCK)
    }

    private func openedFolder() throws -> (CacheFile, Opened) {
        if let lockFile, let opened = opened.withLock({ $0 }) { return (lockFile, opened) }
        let root = try Folder.making(directory, .own).folder(Self.version, making: true)
        let lock = try CacheFile.shared("lock", in: root)
        try take(lock)
        defer { lock.unlock() }
        let new = Opened(root: root, index: try DiskIndex.opened(in: root, maxBytes: maxBytes))
        opened.withLock { $0 = new }
        try write(census(new.index).usage, lock)
        lockFile = lock
        return (lock, new)
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
        writer.add(writer.checksum(from: 0))
        try lock.write(writer, at: 0)
        noted = CacheUsage(entries: usage.entries, bytes: usage.bytes)
    }

    // MARK: New files

    /// Makes a file that goes with its writer, unless it is moved.
    func temporary() throws -> TemporaryEntry {
        guard let root = opened.withLock({ $0?.root }) else {
            throw FileFault("find the cache's folder", code: ENOENT)
        }
        temporaries += 1
        let name =
            "\(ProcessInfo.processInfo.processIdentifier)-\(temporaries)-"
            + String(UInt32.random(in: 0...UInt32.max), radix: 16)
        let folder = try root.folder("tmp", making: true)
        let file = try CacheFile.new(name, in: folder)
        _ = file.lock(waiting: false)
        return TemporaryEntry(folder: folder, name: name, file: file)
    }
}

/// The file of an entry that is being written and is too large to wait in memory.
struct TemporaryEntry: Sendable {
    let folder: Folder
    let name: String
    let file: CacheFile

    /// Removes the file, if it has not been moved.
    func remove() throws { try folder.remove(name) }
}
