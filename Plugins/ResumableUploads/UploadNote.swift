// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The state of a file, to notice that it was changed.
struct FileState: Codable, Equatable {
    let length: Int64
    let seconds: Int64
    let nanoseconds: Int64

    /// Reads the state.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/upload`` if the file is gone.
    init(_ path: String) throws {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            let fault = FileFault("read the file to send")
            throw ClientError(.upload, fault.description, underlying: fault)
        }
        length = Int64(status.st_size)
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        seconds = Int64(time.tv_sec)
        nanoseconds = Int64(time.tv_nsec)
    }
}

/// The file by which a later call continues the upload of an earlier call.
///
/// The file is locked, so that two calls never send to one upload resource at once.
final class UploadNote: Sendable {
    /// What the note says.
    struct Content: Codable {
        /// A hash of what identifies the upload.
        let resource: String
        /// The state of the file when the upload began.
        let file: FileState
        /// The URL of the upload resource.
        let url: String
        /// When the upload resource may be gone, in seconds since 1970.
        let expires: Int64?
        /// How many bytes may have been sent.
        var sent: Int64 = 0
        /// The SHA-256 of these bytes.
        var sha256 = SHA256().finalize().hexadecimal
    }

    private let folder: Folder
    private let name: String
    private let descriptor: CInt

    /// Opens the note, and creates it if it does not exist.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/upload`` if another call has the note, or if it
    ///   cannot be written.
    init(_ resource: String, in directory: String) throws {
        name = ".turnpike-\(resource.prefix(32)).upload"
        do {
            folder = try Folder.named(directory, .any)
            descriptor = try folder.openFile(name, O_RDWR | O_CREAT)
        } catch {
            throw Self.fault(error)
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_uid == geteuid() else {
            throw ClientError(.upload, "the note \(directory)/\(name) belongs to another user")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0,
            status.st_nlink == 1
        else {
            throw ClientError(
                .upload, "another call uploads this file to this URL; wait until it has ended")
        }
    }

    deinit { close(descriptor) }

    /// Returns what the note says about an upload, if it is valid.
    func read(_ resource: String) -> Content? {
        var data = Data(count: 65_536)
        let count = unsafe data.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, $0.count, 0)
        }
        guard count > 0,
            let content = try? JSONDecoder().decode(Content.self, from: data.prefix(count)),
            content.resource == resource, content.sent >= 0
        else { return nil }
        return content
    }

    /// Writes the note in place by one system call, which `kill -9` does not divide.
    func write(_ content: Content) throws {
        do {
            // Blanks cover the rest of a longer note.
            var data = try JSONEncoder().encode(content)
            data += Data(repeating: 0x20, count: max(4096 - data.count, 0))
            try writeWhole(data, to: descriptor, at: 0, action: "write the note of the upload")
        } catch {
            throw Self.fault(error)
        }
    }

    /// Empties the note before another upload begins.
    func clear() { ftruncate(descriptor, 0) }

    func remove() { _ = try? folder.remove(name) }

    private static func fault(_ error: any Error) -> ClientError {
        ClientError(
            .upload,
            "the note of the upload: \(error); set its folder (notesFolder), or keep none (keepsNote)",
            underlying: error)
    }
}
