import Foundation
import Synchronization
import TurnpikeCore

/// Keeps responses in a folder, which several processes may share.
///
/// Each entry is a file of mode 0600 that appears whole, by being renamed, and holds checksums of all
/// it has. A process that is killed loses what it was writing; what it leaves behind is removed by
/// the next that opens the folder, or makes room in it. A file that is damaged, or of another
/// version, is no entry and goes. Nothing is synchronised with the disk: what a loss of power has torn
/// is found by its checksums. Credentials stand nowhere; URLs do, in what the owner alone may read.
///
/// The folder takes `maxBytes`, whatever the number of processes; what each is writing comes on top.
/// Above that, what was not used for longest goes. A head is read when it is looked up, not kept in
/// memory: a hit costs one file.
///
/// Nothing is touched before the first call. Files are read and written on queues of the store's own,
/// and what was committed is written behind the call: a fault is thrown by the next one.
public final class DiskStore: CacheStore {
    private struct State {
        var usage = CacheUsage()
        // How many changes of a key are still to be made: who looks it up stands in line behind.
        var pending: [CacheKey: Int] = [:]
        var backlog = 0
        var fault: (any Error)?
    }

    let folder: DiskFolder
    private let root: String
    private let maxEntryBytes: Int64
    private let writes = DispatchQueue(label: "turnpike.cache.write", qos: .utility)
    private let reads = (0..<4).map { DispatchQueue(label: "turnpike.cache.read.\($0)") }
    private let state = Mutex(State())

    // The most bytes that are committed and not yet written.
    private static let maxBacklog = 8 << 20

    /// Creates a store.
    /// - Parameters:
    ///   - directory: The folder; it is made, with mode 0700, where there is none.
    ///   - maxBytes: The most bytes on disk.
    ///   - maxEntryBytes: The most bytes of one entry's content; an eighth of `maxBytes` if none is
    ///     given.
    public init(directory: String, maxBytes: Int64 = 256 << 20, maxEntryBytes: Int64? = nil) {
        root = directory + "/" + Self.versionFolder
        self.maxEntryBytes = min(max(maxEntryBytes ?? maxBytes / 8, 0), max(maxBytes, 0))
        folder = DiskFolder(root: root, maxBytes: max(maxBytes, 0))
    }

    // Entries of another layout would stand in a folder beside this one.
    private static let versionFolder = "v1"

    /// Whether there is a cache in a folder.
    public static func exists(in directory: String) -> Bool {
        FileManager.default.fileExists(atPath: directory + "/" + versionFolder + "/lock")
    }

    // MARK: Looking up

    /// Finds an entry.
    public func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry? {
        let (isPending, fault) = state.withLock { state in
            defer { state.fault = nil }
            return (state.pending[key] != nil, state.fault)
        }
        if let fault { throw fault }
        let read = reads[Int(UInt(bitPattern: key.url.hashValue) % UInt(reads.count))]
        return try await (isPending ? writes : read).run { [self] in
            try find(key, isMatch, read)
        }
    }

    private func find(
        _ key: CacheKey, _ isMatch: (StoredResponse) -> Bool, _ read: DispatchQueue
    ) throws -> CacheEntry? {
        var best: (entry: EntryFile, path: String)?
        let stem = DiskFolder.stem(root, key)
        for slot in 0..<DiskFolder.maxVariants {
            let path = DiskFolder.path(stem, slot)
            guard let file = try CacheFile.existing(path) else { continue }
            guard let entry = try EntryFile(file) else {
                removeDamaged(path, key)
                continue
            }
            guard entry.response.key == key, isMatch(entry.response),
                entry.response.responseTime > best?.entry.response.responseTime ?? .distantPast
            else { continue }
            best = (entry, path)
        }
        guard let best else { return nil }
        let content = try best.entry.content(read) { [weak self] in
            self?.removeDamaged(best.path, key)
        }
        guard let content else {
            removeDamaged(best.path, key)
            return nil
        }
        best.entry.markUsed()
        return CacheEntry(response: best.entry.response, content: content)
    }

    private func removeDamaged(_ path: String, _ key: CacheKey) {
        enqueue(key) { store in
            try store.change { usage in
                // Somebody may have put a whole one in its place.
                if let file = try CacheFile.existing(path), let entry = try EntryFile(file),
                    try entry.content(store.reads[0], onDamage: {}) is CachedData
                {
                    return
                }
                try store.folder.remove(path, &usage)
            }
        }
    }

    // MARK: Changing

    /// Begins to store a response; nil where its content is larger than an entry may be.
    public func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)? {
        if let length, length > maxEntryBytes { return nil }
        return DiskWriter(store: self, response: response, maxBytes: maxEntryBytes)
    }

    /// Puts another head in an entry's place.
    public func update(_ entry: CacheEntry, to response: StoredResponse) async throws {
        enqueue(response.key) { store in
            let isDone = try store.change { usage in
                try store.folder.update(entry.response, to: response, &usage)
            }
            // It has grown too much for its place.
            guard !isDone, let data = (entry.content as? CachedData)?.data else { return }
            try DiskWriter.put(response, data, in: store)
        }
    }

    /// Removes all entries under a key.
    public func remove(_ key: CacheKey) async throws {
        enqueue(key) { store in
            try store.change { try store.folder.removeAll(of: key, &$0) }
        }
    }

    /// Removes all entries for which a condition holds.
    @discardableResult
    public func removeAll(
        where condition: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> Int {
        try await onWrites { store in
            try store.change { usage in
                var count = 0
                for path in DiskFolder.paths(store.root) {
                    guard let entry = try Self.entry(path), condition(entry.response) else {
                        continue
                    }
                    try store.folder.remove(path, &usage)
                    count += 1
                }
                return count
            }
        }
    }

    /// All entries.
    public func list() async throws -> [CacheListing] {
        try await onWrites { store in
            try DiskFolder.paths(store.root).compactMap { path in
                try Self.entry(path).map {
                    CacheListing(response: $0.response, length: $0.layout.length)
                }
            }
        }
    }

    private static func entry(_ path: String) throws -> EntryFile? {
        try CacheFile.existing(path).flatMap { try EntryFile($0) }
    }

    /// How much the folder holds, as of the last change that this process made.
    public var usage: CacheUsage { state.withLock { $0.usage } }

    /// Returns when all that was committed is in files.
    public func flush() async { try? await onWrites { _ in } }

    // MARK: The queue of changes

    /// Does something on the queue of changes.
    func onWrites<Value: Sendable>(
        _ action: @escaping @Sendable (DiskStore) throws -> Value
    ) async throws -> Value {
        try await writes.run { [self] in try action(self) }
    }

    /// Has something done on the queue of changes, which later look-ups of the key wait for.
    func enqueue(
        _ key: CacheKey, bytes: Int = 0, _ action: @escaping @Sendable (DiskStore) throws -> Void
    ) {
        state.withLock { state in
            state.pending[key, default: 0] += 1
            state.backlog += bytes
        }
        writes.async { [self] in
            let result = Result { try action(self) }
            state.withLock { state in
                state.backlog -= bytes
                state.pending[key, default: 1] -= 1
                if state.pending[key] == 0 { state.pending[key] = nil }
                if case .failure(let error) = result { state.fault = error }
            }
        }
    }

    /// Whether so much waits to be written that a call should wait too.
    var isBehind: Bool { state.withLock { $0.backlog > Self.maxBacklog } }

    /// Changes entries, on the queue of changes.
    func change<Value>(_ action: (inout CacheUsage) throws -> Value) throws -> Value {
        let (value, usage) = try folder.change(action)
        state.withLock { state in
            let evictions = state.usage.evictions + usage.evictions
            state.usage = usage
            state.usage.evictions = evictions
        }
        return value
    }
}
