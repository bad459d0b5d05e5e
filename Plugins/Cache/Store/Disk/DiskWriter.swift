// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

// Receives the content of one entry. Small content stays in memory, and large content is written
// to a temporary file.
final class DiskWriter: CacheWriter {
    private struct Content {
        var buffer = Data()
        // The number of bytes in the file, and the checksums of the bytes.
        var written: Int64 = 0
        var checksums: [UInt64] = []
        var temporary: TemporaryEntry?
    }

    private enum State {
        case open(Content)
        case tooLarge
        case ended
    }

    private let store: DiskStore
    private let response: StoredResponse
    private let maxBytes: Int64
    // The number of removals by other processes at the time of the request.
    private let removals: UInt64
    private let state = Mutex(State.open(Content()))

    private static let bufferBytes = 256 << 10

    init(store: DiskStore, response: StoredResponse, maxBytes: Int64, removals: UInt64) {
        self.store = store
        self.response = response
        self.maxBytes = maxBytes
        self.removals = removals
    }

    deinit { abandon() }

    func write(_ chunk: Data) async throws {
        let content = change { content in
            if content.buffer.isEmpty { content.buffer = chunk } else { content.buffer += chunk }
        }
        guard let content else { return }
        if content.written + Int64(content.buffer.count) > maxBytes {
            drop(end(as: .tooLarge))
        } else if content.buffer.count >= Self.bufferBytes {
            try await store.besideWrites { [self] _ in try spill() }
        }
    }

    // Changes the collected content. After the end of writing, returns nil and changes nothing.
    private func change(_ action: (inout Content) -> Void) -> Content? {
        state.withLock { state in
            guard case .open(var content) = state else { return nil }
            // The state must not share the buffer, because a change would then copy the buffer.
            state = .ended
            action(&content)
            state = .open(content)
            return content
        }
    }

    // Moves complete blocks to the file.
    private func spill() throws {
        guard case .open(let content) = state.withLock({ $0 }) else { return }
        let count = content.buffer.count / EntryFile.blockBytes * EntryFile.blockBytes
        let blocks = content.buffer.prefix(count)
        // The folder's lock is needed. Without this lock, another process could remove the file
        // before this process holds the file's own lock.
        let temporary =
            try content.temporary ?? store.change { _, _ in try store.folder.temporary() }
        do {
            var beginning = DiskPack.opening(of: 1)
            let layout = EntryFile.addHead(of: response, length: 0, to: &beginning)
            try temporary.file.write(blocks, at: layout.contentOffset + content.written)
        } catch {
            try? temporary.remove()
            throw error
        }
        let after = change { content in
            content.buffer = Data(content.buffer.dropFirst(count))
            content.written += Int64(count)
            content.checksums += EntryFile.checksums(blocks)
            content.temporary = temporary
        }
        if after == nil { try temporary.remove() }
    }

    func commit() async throws {
        switch end(as: .ended) {
        case .ended: return
        // The new content is too large, and the old entry is out of date.
        case .tooLarge: try await store.remove(response.key)
        case .open(var content):
            content.buffer = content.buffer.exact
            if isTaken(content) { return }
            if let temporary = content.temporary { remove(temporary) }
            if store.mayHold(response.key) { try await store.remove(response.key) }
        }
    }

    private func isTaken(_ content: Content) -> Bool {
        let (response, removals) = (self.response, self.removals)
        // The approximate number of bytes of the entry.
        let bytes = content.buffer.count + response.headBytes + 1024
        guard let temporary = content.temporary else {
            return store.store(
                response.key, .entry(response, content.buffer, removals), bytes: bytes)
        }
        let update = DiskBacklog.Change.Work.update { store in
            // The removal has no effect on a moved file. If the removal fails, the next count
            // removes the file.
            defer { try? temporary.remove() }
            var beginning = DiskPack.opening(of: 1)
            let layout = EntryFile.addHead(
                of: response, length: content.written + Int64(content.buffer.count), to: &beginning)
            var end = RecordWriter()
            end.add(content.buffer)
            for sum in content.checksums + EntryFile.checksums(content.buffer) { end.add(sum) }
            try temporary.file.write(end.bytes, at: layout.contentOffset + content.written)
            try temporary.file.write(beginning.bytes, at: 0)
            try store.change { index, usage in
                let mark = index.mark(of: response.key)
                guard try index.removalsByOthers(mark) == removals else {
                    // The new entry is not stored, and the old entries of the key are out of date.
                    return try store.folder.removeAll(mark, index, &usage)
                }
                try store.folder.keep(response, temporary, bytes: layout.end, index, &usage)
            }
        }
        return store.store(response.key, update, bytes: bytes)
    }

    func abandon() { drop(end(as: .ended)) }

    // Ends the writing, and returns the old state.
    private func end(as end: State) -> State {
        state.withLock { state in
            defer { if case .open = state { state = end } else { state = .ended } }
            return state
        }
    }

    private func drop(_ state: State) {
        if case .open(let content) = state, let temporary = content.temporary { remove(temporary) }
    }

    private func remove(_ temporary: TemporaryEntry) {
        store.behind(response.key) { _ in try temporary.remove() }
    }
}
