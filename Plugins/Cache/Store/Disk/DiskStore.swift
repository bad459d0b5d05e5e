// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// Keeps responses in a folder, which several processes may share.
///
/// Responses that are stored at about the same time share a file of mode 0600. An index contains
/// the place of each response. Each part of an entry has a checksum, and look-ups find only
/// complete entries. Damaged entries are removed. An index that is damaged or of another version
/// empties the folder. The store does not synchronise files with the disk. If a loss of power
/// damages entries, their checksums do not match. The files contain URLs, but no credentials. Only
/// the owner may read the files.
///
/// The folder must belong to this user or to the superuser. Nobody else may write to the folder,
/// unless the folder is sticky as `/tmp` is. The same conditions apply to the files in the folder,
/// and links are refused. If the folder is refused, calls continue without the folder, and a log
/// entry, at most once a minute, names the folder and the reason.
///
/// All processes together use at most `maxBytes` of disk space. The index takes at most a thirtieth
/// of `maxBytes`, and 512 bytes. Content that is being written is not included. To free space, the
/// store removes the least recently used files. If a lower limit makes the index larger than a
/// quarter of the limit, the folder is emptied.
///
/// Look-ups find a committed entry at once. The entry is written in the background within a tenth
/// of a second, or by ``flush()``. The client's `shutdown(grace:)` calls ``flush()``. If a process
/// is killed, unwritten entries are lost, and another process removes unfinished files. Content of
/// up to 256 KiB stays in memory before the write. The queue has at most 8 MiB. If the disk is
/// too slow, new responses are not stored. If the disk works, no removal is lost. A removal also
/// affects entries that this process is still storing. Other processes do not store responses from
/// before the removal.
///
/// No file is opened before the first call. The store has its own queues for reading and writing.
/// If a write failed, the next look-up throws the error. If another process holds the folder's
/// lock, for instance because that process was stopped, one change waits for five seconds. Later
/// changes fail at once until the lock is free.
public final class DiskStore: CacheStore {
    enum Opening {
        case untried
        case open
        /// Opening or writing has failed. The next writer tries to open the folder again.
        case failed(any Error)
        /// One writer tries again. At the same time, the other writers fail with the last error.
        case retrying(any Error)
    }

    struct State {
        var usage = CacheUsage()
        var fault: (any Error)?
        var opening = Opening.untried
    }

    let folder: DiskFolder
    private let maxEntryBytes: Int64
    let delay: Duration?
    let writes = DispatchQueue(label: "turnpike.cache.write", qos: .utility)
    private let reads = (0..<4).map { DispatchQueue(label: "turnpike.cache.read.\($0)") }
    let backlog: DiskBacklog
    let state = Mutex(State())

    /// Creates a store.
    /// - Parameters:
    ///   - directory: The folder. A missing folder is created with mode 0700.
    ///   - maxBytes: The maximum number of bytes on disk.
    ///   - maxEntryBytes: The maximum number of content bytes of one entry, by default an eighth of
    ///     `maxBytes`.
    public convenience init(
        directory: String, maxBytes: Int64 = 256 << 20, maxEntryBytes: Int64? = nil
    ) {
        self.init(
            directory: directory, maxBytes: maxBytes, maxEntryBytes: maxEntryBytes,
            writingAfter: .milliseconds(100))
    }

    /// Writes on a flush, if the queue is long, or after `delay` (nil for never).
    init(
        directory: String, maxBytes: Int64 = 256 << 20, maxEntryBytes: Int64? = nil,
        writingAfter delay: Duration?, maxBacklog: Int = 8 << 20,
        lockPatience: Duration = .seconds(5)
    ) {
        self.maxEntryBytes = min(max(maxEntryBytes ?? maxBytes / 8, 0), max(maxBytes, 0))
        self.delay = delay
        backlog = DiskBacklog(maxBytes: maxBacklog)
        folder = DiskFolder(
            directory: directory, maxBytes: max(maxBytes, 0), patience: lockPatience)
    }

    /// Returns whether a folder contains a cache.
    public static func exists(in directory: String) -> Bool { DiskFolder.exists(in: directory) }

    /// The bounds are two buffers of 256 KiB in memory, and `maxEntryBytes` on disk.
    public var entryBounds: CacheEntryBounds? {
        CacheEntryBounds(memory: 512 << 10, disk: maxEntryBytes)
    }

    // MARK: Looking up

    /// Finds an entry.
    public func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry? {
        let fault = state.withLock { state in
            defer { state.fault = nil }
            return state.fault
        }
        if let fault { throw fault }
        switch backlog.find(key, isMatch) {
        case .entry(let entry): return entry
        case .nothing: return nil
        case .later: return try await onWrites { try $0.find(key, isMatch) }
        case .folder: break
        }
        if let index = folder.index {
            if try index.look(index.mark(of: key)).isEmpty { return nil }
        }
        return try await read(key).run { [self] in try find(key, isMatch) }
    }

    private func read(_ key: CacheKey) -> DispatchQueue {
        reads[Int(UInt(bitPattern: key.hashValue) % UInt(reads.count))]
    }

    private func find(
        _ key: CacheKey, _ isMatch: (StoredResponse) -> Bool
    ) throws -> CacheEntry? {
        guard let index = try folder.foundIndex() else { return nil }
        var best: (entry: EntryFile, place: DiskIndex.Place)?
        for place in try index.places(index.mark(of: key)) {
            guard let entry = try folder.entry(place) else {
                removeDamaged(place, key)
                continue
            }
            guard entry.response.key == key, isMatch(entry.response),
                entry.response.responseTime > best?.entry.response.responseTime ?? .distantPast
            else { continue }
            best = (entry, place)
        }
        guard let best else { return nil }
        let content = try best.entry.content(read(key)) { [weak self] in
            self?.removeDamaged(best.place, key, hiding: true)
        }
        guard let content else {
            removeDamaged(best.place, key)
            return nil
        }
        best.entry.markUsed()
        return CacheEntry(response: best.entry.response, content: content)
    }

    // If `isHidden`, look-ups of the key wait for the removal. If `isHidden` is false, look-ups
    // find the entry again.
    private func removeDamaged(
        _ place: DiskIndex.Place, _ key: CacheKey, hiding isHidden: Bool = false
    ) {
        let removal: DiskBacklog.Change.Action = { store in
            try store.change { index, usage in
                // The file may be removed, or the look-up may have read an incomplete new head.
                if let entry = try store.folder.entry(place),
                    let content = try entry.content(store.reads[0], onDamage: {}),
                    (content as? DiskContent)?.isWhole ?? true
                {
                    return
                }
                try store.folder.remove(place, index, &usage)
            }
        }
        change(key, isHidden ? .update(removal) : .other(removal))
    }

    // MARK: Changing

    /// Begins to store a response, or returns nil if the content or the queue is too large.
    /// - Throws: The error of a folder that cannot be used.
    public func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)? {
        if maxEntryBytes == 0 || length ?? 0 > maxEntryBytes { return nil }
        try await open()
        guard !backlog.isFull, let index = folder.index else { return nil }
        return DiskWriter(
            store: self, response: response, maxBytes: maxEntryBytes,
            removals: try index.removalsSeen(index.mark(of: response.key)))
    }

    // Opens the folder before the first change, because the store must notice later removals by
    // other processes. After an error, one writer at a time opens the folder, and no queue forms.
    private func open() async throws {
        let mayTry = try state.withLock { state in
            switch state.opening {
            case .open: return false
            case .untried: return true
            case .retrying(let fault): throw fault
            case .failed(let fault):
                state.opening = .retrying(fault)
                return true
            }
        }
        guard mayTry else { return }
        do {
            try await besideWrites { try $0.folder.open() }
            state.withLock { $0.opening = .open }
        } catch {
            state.withLock { $0.opening = .failed(error) }
            throw error
        }
    }

    // Records the error of a write. The next look-up throws the error.
    func failed(_ error: any Error) {
        state.withLock { state in
            state.fault = error
            state.opening = .failed(error)
        }
    }

    /// Replaces an entry's head.
    public func update(_ entry: CacheEntry, to response: StoredResponse) async throws {
        let data = (entry.content as? CachedData)?.data
        let bytes = (data?.count ?? 0) + entry.response.headBytes + response.headBytes
        let update = DiskBacklog.Change.Work.update { store in
            try store.change { index, usage in
                let folder = store.folder
                let isDone = try folder.update(entry.response, to: response, index, &usage)
                // The new head is too long for the place of the old head.
                guard !isDone, let data else { return }
                var pack = DiskPack()
                _ = pack.add(response, data, mark: index.mark(of: response.key))
                try folder.keep(pack, index, &usage)
            }
        }
        change(response.key, update, holding: bytes)
        await boundBacklog()
    }

    // New heads and removals are never refused. If the queue is full, they wait for the disk.
    private func boundBacklog() async { if backlog.isFull { await flush() } }

    /// Removes all entries under a key.
    public func remove(_ key: CacheKey) async throws {
        change(key, .removal)
        await boundBacklog()
    }

    /// Removes all entries that fulfil a condition.
    @discardableResult
    public func removeAll(
        where condition: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> Int {
        try await onWrites { store in
            try store.change { index, usage in
                // An error of the count is ignored, as in `removeEntries`.
                try? index.noteRemovals()
                var count = 0
                for place in try index.places() {
                    guard let entry = try store.folder.entry(place), condition(entry.response),
                        try store.folder.remove(place, index, &usage)
                    else { continue }
                    count += 1
                }
                return count
            }
        }
    }

    /// Lists all entries.
    public func list() async throws -> [CacheListing] {
        try await onWrites { store in
            try (store.folder.foundIndex()?.places() ?? []).compactMap { place in
                try store.folder.entry(place).map {
                    CacheListing(response: $0.response, length: $0.layout.length)
                }
            }
        }
    }

    /// The size of the folder after the last change that this process has written.
    public var usage: CacheUsage { state.withLock { $0.usage } }

    /// Waits until each committed entry is written or has failed.
    ///
    /// After a failure, the next look-up throws the error.
    public func flush() async { try? await onWrites { _ in } }
}
