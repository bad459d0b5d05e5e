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
/// All that changes entries is done under the lock; a process that dies gives it back. Whoever opens
/// the folder, or makes room in it, counts anew. It is used by one queue.
// SAFETY: one serial queue uses it; what others use is static, or has a lock of its own.
final class DiskFolder: @unchecked Sendable {
    let root: String
    let maxBytes: Int64
    private let patience: Duration
    private var isPatient = true
    private var lockFile: CacheFile?
    private var temporaries: UInt64 = 0
    // What stands in the lock's file.
    private var noted: CacheUsage?
    // What there is, while the lock is held for several changes.
    private var held: CacheUsage?
    private let openIndex = Mutex<DiskIndex?>(nil)
    /// Entries that are to share the next file; between two portions of changes there are none, and
    /// its memory is kept for the next one.
    var gathered: DiskPack

    /// Creates the folder's side of a process; nothing is touched yet.
    /// - Parameters:
    ///   - root: The path.
    ///   - maxBytes: The most bytes.
    ///   - patience: For how long to wait for another process that has the lock.
    init(root: String, maxBytes: Int64, patience: Duration) {
        self.root = root
        self.maxBytes = maxBytes
        self.patience = patience
        gathered = DiskPack(maxBytes: Int(min(maxBytes / 64, Int64(DiskPack.maxSharedBytes))))
    }

    // MARK: The lock

    /// The folder's index, from when it was first opened.
    var index: DiskIndex? { openIndex.withLock { $0 } }

    /// The folder's index, for look-ups: nil where there is none yet.
    func foundIndex() throws -> DiskIndex? {
        try openIndex.withLock { index in
            if index == nil { index = try DiskIndex.existing(root + "/index") }
            return index
        }
    }

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

    /// Opens the folder, and its index, where that is still to be done.
    func open() throws { _ = try opened() }

    // The lock, which is taken, and the index. Where somebody has removed the folder, or made a damaged
    // index anew, other processes share others than ours by now.
    private func locked() throws -> (CacheFile, DiskIndex) {
        for _ in 0..<3 {
            let (lock, index) = try opened()
            try take(lock)
            if !lock.isRemoved, !index.isRemoved { return (lock, index) }
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

    private func opened() throws -> (CacheFile, DiskIndex) {
        if let lockFile, let index { return (lockFile, index) }
        try makeFolders()
        let lock = try CacheFile.shared(root + "/lock")
        try take(lock)
        defer { lock.unlock() }
        let index = try DiskIndex.opened(root + "/index", maxBytes: maxBytes)
        openIndex.withLock { $0 = index }
        try write(census(index).usage, lock)
        lockFile = lock
        return (lock, index)
    }

    private func makeFolders() throws {
        for name in ["tmp", "packs"] {
            try FileManager.default.createDirectory(
                atPath: "\(root)/\(name)", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
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

    /// Makes something in the folder; where somebody has removed the folders, they are made first.
    func make<Value>(_ action: () throws -> Value) throws -> Value {
        do {
            return try action()
        } catch let fault as FileFault where fault.code == ENOENT {
            try makeFolders()
            return try action()
        }
    }

    /// Makes a file that goes with its writer, unless it is renamed.
    func temporary() throws -> (path: String, file: CacheFile) {
        temporaries += 1
        let name = "\(ProcessInfo.processInfo.processIdentifier)-\(temporaries)-"
        let path = "\(root)/tmp/" + name + String(UInt32.random(in: 0...UInt32.max), radix: 16)
        let file = try make { try CacheFile.new(path) }
        _ = file.lock(waiting: false)
        return (path, file)
    }
}
