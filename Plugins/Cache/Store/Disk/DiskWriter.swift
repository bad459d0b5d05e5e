import Foundation
import Synchronization
import TurnpikeCore

/// Takes the content of one entry: in memory while it is small, then in a file without a name that
/// is looked up.
final class DiskWriter: CacheWriter {
    private struct State {
        var buffer = Data()
        // What has left the buffer.
        var written: Int64 = 0
        var checksums: [UInt64] = []
        var temporary: TemporaryEntry?
        var hasEnded = false
        var isTooLarge = false
    }

    private let store: DiskStore
    private let response: StoredResponse
    private let maxBytes: Int64
    // How often others had removed what it is about.
    private let removals: UInt64?
    private let state = Mutex(State())

    private static let bufferBytes = 256 << 10

    init(store: DiskStore, response: StoredResponse, maxBytes: Int64, removals: UInt64?) {
        self.store = store
        self.response = response
        self.maxBytes = maxBytes
        self.removals = removals
    }

    deinit { abandon() }

    // What stands before the entry in its file.
    private static var opening: RecordWriter {
        var opening = RecordWriter(capacity: 4096)
        DiskPack.addOpening(of: 1, to: &opening)
        return opening
    }

    func write(_ chunk: Data) async throws {
        let (isFull, isTooLarge) = state.withLock { state in
            if state.hasEnded { return (false, false) }
            if state.buffer.isEmpty { state.buffer = chunk } else { state.buffer.append(chunk) }
            let count = Int64(state.buffer.count) + state.written
            return (state.buffer.count >= Self.bufferBytes, count > maxBytes)
        }
        if isTooLarge {
            abandon()
            return state.withLock { $0.isTooLarge = true }
        }
        if isFull { try await store.besideWrites { [self] _ in try spill() } }
    }

    // Whole blocks go to the file.
    private func spill() throws {
        let (blocks, offset, temporary) = state.withLock { state in
            let count = state.buffer.count / EntryFile.blockBytes * EntryFile.blockBytes
            let blocks = state.hasEnded ? Data() : Data(state.buffer.prefix(count))
            state.buffer = Data(state.buffer.dropFirst(count))
            defer { state.written += Int64(blocks.count) }
            return (blocks, state.written, state.temporary)
        }
        if blocks.isEmpty { return }
        // Within the lock, so that nobody takes it for a dead one's before it is locked itself.
        let target = try temporary ?? store.change { _, _ in try store.folder.temporary() }
        if temporary == nil {
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.temporary = target }
                return state.hasEnded
            }
            if hasEnded {
                try target.remove()
                return
            }
        }
        var beginning = Self.opening
        let layout = EntryFile.addHead(of: response, length: 0, to: &beginning)
        try target.file.write(blocks, at: layout.contentOffset + offset)
        let checksums = EntryFile.checksums(blocks)
        state.withLock { $0.checksums += checksums }
    }

    func commit() async throws {
        var state = self.state.withLock { state in
            defer {
                state.hasEnded = true
                state.buffer = Data()
                state.temporary = nil
            }
            return state
        }
        // What has grown too large is not what it was, either.
        if state.isTooLarge { return try await store.remove(response.key) }
        if state.hasEnded { return }
        state.buffer = state.buffer.exact
        if isTaken(state) { return }
        if let temporary = state.temporary { remove(temporary) }
        // What is not stored is not what was there, either.
        if store.mayHold(response.key) { try await store.remove(response.key) }
    }

    private func isTaken(_ state: State) -> Bool {
        let (response, removals) = (self.response, self.removals)
        // With what stands around it.
        let bytes = state.buffer.count + response.headBytes + 1024
        guard let temporary = state.temporary else {
            return store.store(
                response.key, .entry(response, state.buffer, removals), bytes: bytes)
        }
        let update = DiskBacklog.Change.Work.update { store in
            // Where it was kept, nothing is there any more; what stays goes when the folder is counted.
            defer { try? temporary.remove() }
            var beginning = Self.opening
            let layout = EntryFile.addHead(
                of: response, length: state.written + Int64(state.buffer.count), to: &beginning)
            var end = RecordWriter(capacity: state.buffer.count + 8 * layout.blockCount)
            end.add(state.buffer)
            for sum in state.checksums + EntryFile.checksums(state.buffer) { end.add(sum) }
            try temporary.file.write(end, at: layout.contentOffset + state.written)
            try temporary.file.write(beginning, at: 0)
            try store.change { index, usage in
                let mark = index.mark(of: response.key)
                guard removals == nil || index.removalsByOthers(mark) == removals else {
                    // What it was to take the place of is older still.
                    return try store.folder.removeAll(mark, index, &usage)
                }
                try store.folder.keep(response, temporary, bytes: layout.end, index, &usage)
            }
        }
        return store.store(response.key, update, bytes: bytes)
    }

    func abandon() {
        let temporary = state.withLock { state in
            defer {
                state.hasEnded = true
                state.buffer = Data()
                state.temporary = nil
            }
            return state.hasEnded ? nil : state.temporary
        }
        if let temporary { remove(temporary) }
    }

    private func remove(_ temporary: TemporaryEntry) {
        store.behind(response.key) { _ in try temporary.remove() }
    }
}
