// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The folder of a disk store with its lock (`FORMAT.md`, "files" and "lock").
///
/// Each level of the path stays open (``/TurnpikeSupport/Folder``). Links are refused, and files
/// that another user owns or may write.
// SAFETY: one serial queue uses the object. Other threads use only static or locked members.
final class DiskFolder: @unchecked Sendable {
    private struct Opened {
        let root: Folder
        let index: DiskIndex
        var packs: Folder?
    }

    let maxBytes: Int64
    private let directory: String
    private let patience: Duration
    // False after another process has held the lock for too long, and true again after this process
    // has taken the lock.
    private var isPatient = true
    private var lockFile: CacheFile?
    private var temporaries: UInt64 = 0
    private var noted: CacheUsage?
    // The size and the number of entries while one lock protects several changes.
    private var held: CacheUsage?
    private let opened = Mutex<Opened?>(nil)

    private static let version = "v2"

    /// Creates the object without opening a file.
    init(directory: String, maxBytes: Int64, patience: Duration) {
        self.directory = directory
        self.maxBytes = maxBytes
        self.patience = patience
    }

    var newPack: DiskPack {
        DiskPack(maxBytes: Int(min(maxBytes / 64, Int64(DiskPack.maxSharedBytes))))
    }

    static func exists(in directory: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(directory)/\(version)/lock")
    }

    // MARK: Open files

    var index: DiskIndex? { opened.withLock { $0?.index } }

    /// Returns nil if there is no index yet.
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

    /// The folder of entry files, for reading; nil if the folder does not exist.
    ///
    /// If `again` is true, checks whether another process has replaced the folder.
    func foundPacks(again: Bool = false) throws -> Folder? {
        try opened.withLock { opened in
            if let packs = opened?.packs, !again || packs.isStillThere { return packs }
            guard let root = opened?.root else { return nil }
            let packs = try Self.ifThere { () throws(FileFault) in try root.folder("packs") }
            opened?.packs = packs
            return packs
        }
    }

    /// Returns the folder of entry files, and creates a missing folder.
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
        // If writing the size fails, the next count corrects the size.
        defer { if usage != noted { try? write(usage, lock) } }
        let value = try action(index, &usage)
        return (value, usage)
    }

    // Makes several changes within one lock. If the lock is not free, throws an error.
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

    // Writes the size to the lock's file before the space is used. If the process is killed after
    // this write, the size is too high, not too low.
    func note(_ usage: CacheUsage) throws { if let lockFile { try write(usage, lockFile) } }

    func open() throws {
        let (lock, _) = try locked()
        defer { lock.unlock() }
        _ = try packs()
    }

    // Takes the lock. If the folder was removed or moved, or a damaged index was replaced, opens
    // the files again.
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

    // A process with the lock may be stopped. After one change has waited for the lock without
    // success, the next changes wait only two milliseconds.
    private func take(_ lock: CacheFile) throws {
        isPatient = lock.lock(within: isPatient ? patience : .milliseconds(2))
        if isPatient { return }
        throw FileFault("lock the cache, because another process holds the lock", code: EWOULDBLOCK)
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
        let numbers = try lock.numbers(3, at: 0)
        guard numbers[2] == XXHash64.hash(numbers.prefix(2)), numbers[0] < 1 << 60,
            numbers[1] < 1 << 40
        else { return nil }
        return CacheUsage(entries: Int(numbers[1]), bytes: Int64(numbers[0]))
    }

    private func write(_ usage: CacheUsage, _ lock: CacheFile) throws {
        let numbers = [UInt64(max(usage.bytes, 0)), UInt64(max(usage.entries, 0))]
        try lock.write(numbers + [XXHash64.hash(numbers)], at: 0)
        noted = CacheUsage(entries: usage.entries, bytes: usage.bytes)
    }

    // MARK: New files

    // Creates a temporary file with a lock. Other processes do not remove a locked file.
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
        _ = file.lock()
        return TemporaryEntry(folder: folder, name: name, file: file)
    }
}

/// A temporary file of an entry that is too large for the queue in memory.
struct TemporaryEntry: Sendable {
    let folder: Folder
    let name: String
    let file: CacheFile

    /// Removes the file, unless the file has been moved.
    func remove() throws { try folder.remove(name) }
}
