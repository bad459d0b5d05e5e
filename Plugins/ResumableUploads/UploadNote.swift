// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The file by which a later call continues the upload of an earlier call.
final class UploadNote: Sendable {
    struct Content: Codable {
        /// The length and the modification time of the uploaded file when the upload began.
        let file: [Int64]
        let url: String
        /// The seconds since 1970 after which the server may remove the upload resource.
        let expires: Int64?
        /// The number of bytes that a transport may have sent.
        var sent: Int64 = 0
        /// The SHA-256 of the first `sent` bytes.
        var sha256 = SHA256().finalize().hexadecimal
    }

    private let folder: Folder
    private let name: String
    private let file: Mutex<UnnamedFile?>

    init(for identity: String, in directory: URL) throws {
        let digest = SHA256.digest(of: Data(identity.utf8)).prefix(16)
        name = ".turnpike-\(digest.hexadecimal).upload"
        let descriptor: CInt
        do {
            folder = try Folder.named(directory.path(percentEncoded: false), .any)
            descriptor = try folder.openFile(name, O_RDWR | O_CREAT)
        } catch {
            throw Self.fault(error)
        }
        file = Mutex(UnnamedFile(descriptor: descriptor))
        var status = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0,
            status.st_nlink == 1, status.st_uid == geteuid()
        else {
            throw ClientError(.upload, "another call or user has the note of the upload")
        }
    }

    /// The length and the modification time of a file.
    static func state(of path: String) throws -> [Int64] {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            throw ClientError(.upload, FileFault("read the file to send").description)
        }
        let version = FileVersion(status)
        return [version.size, version.modified]
    }

    func read() -> Content? {
        let data = file.withLock { try? $0?.read(upToCount: 65_536, at: 0) }
        let content = data.flatMap { try? JSONDecoder().decode(Content.self, from: $0) }
        return content.map { $0.sent >= 0 } == true ? content : nil
    }

    /// Writes the note by one system call, which `kill -9` cannot interrupt half-way.
    func write(_ content: Content) throws {
        do {
            // If the old note was longer, blanks overwrite the end of the old note.
            var data = try JSONEncoder().encode(content)
            data += Data(repeating: 0x20, count: max(4096 - data.count, 0))
            try file.withLock { try $0?.write(data, at: 0) }
        } catch {
            throw Self.fault(error)
        }
    }

    func clear() { file.withLock { $0?.truncate() } }

    func remove() { _ = try? folder.remove(name) }

    /// Ends the lock, even if a transport or a record still has the content of a request.
    func close() { file.withLock { $0 = nil } }

    private static func fault(_ error: any Error) -> ClientError {
        ClientError(
            .upload,
            "the note of the upload failed: \(error); set notesFolder, or keep no note (keepsNote)",
            underlying: error)
    }
}

/// The bytes that a transport may have sent, after the note has their number and hash.
final class SentBytes: Sendable {
    private struct State {
        var count: Int64
        var hash: SHA256
        var content: UploadNote.Content?
    }

    private let state: Mutex<State>
    private let note: UploadNote?

    /// Continues from a note and updates the note; without a note, the bytes are only counted.
    init(
        _ note: UploadNote? = nil, _ content: UploadNote.Content? = nil, _ hash: SHA256 = SHA256()
    ) throws {
        self.note = note
        state = Mutex(State(count: content?.sent ?? 0, hash: hash, content: content))
        if let content { try note?.write(content) }
    }

    var count: Int64 { state.withLock { $0.count } }

    /// Adds a chunk before the send, and returns the offset after the chunk.
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

/// The chunks of a part; `SentBytes` counts each chunk before it is sent.
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

        mutating func next() async throws -> Data? {
            let reader = try reader ?? chunks.part.open()
            self.reader = reader
            guard let chunk = try await reader.next() else { return nil }
            position = try chunks.sent.add(chunk, at: position)
            chunks.onChunk(position)
            return chunk
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: self, position: offset) }
}
