// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The bytes of an upload that may have been sent.
///
/// Their number and hash are in the note before a transport gets them.
final class SentBytes: Sendable {
    private struct State {
        var count: Int64
        var hash: SHA256
        var content: UploadNote.Content?
    }

    private let state: Mutex<State>
    private let note: UploadNote?

    /// Continues what a note says; without a note, the bytes are only counted.
    init(
        _ note: UploadNote? = nil, _ content: UploadNote.Content? = nil, _ hash: SHA256 = SHA256()
    ) {
        self.note = note
        state = Mutex(State(count: content?.sent ?? 0, hash: hash, content: content))
    }

    var count: Int64 { state.withLock { $0.count } }

    /// Adds a chunk that will be sent.
    /// - Returns: Its end.
    fileprivate func add(_ chunk: Data, at offset: Int64) throws -> Int64 {
        let end = offset + Int64(chunk.count)
        try state.withLock { state in
            guard end > state.count else { return }
            if let note, var content = state.content {
                state.hash.update(chunk.suffix(Int(end - state.count)))
                content.sent = end
                content.sha256 = state.hash.finalize().hexadecimal
                try note.write(content)
                state.content = content
            }
            state.count = end
        }
        return end
    }
}

/// The chunks of a part; each is added to the sent bytes before it is sent.
struct SentChunks: AsyncSequence, Sendable {
    typealias Element = Data
    typealias Failure = any Error

    let part: RequestBody
    let offset: Int64
    let sent: SentBytes
    let onChunk: @Sendable (Int64) -> Void

    struct AsyncIterator: AsyncIteratorProtocol {
        let chunks: SentChunks
        var reader: RequestBodyReader?
        var position: Int64

        mutating func next() async throws -> Data? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
            let reader = try reader ?? chunks.part.open()
            self.reader = reader
            guard let chunk = try await reader.next(isolation: actor) else { return nil }
            position = try chunks.sent.add(chunk, at: position)
            chunks.onChunk(position)
            return chunk
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(chunks: self, position: offset)
    }
}
