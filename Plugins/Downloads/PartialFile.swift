// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// A hidden file of mode 0600 with an unpredictable name, for a running download.
///
/// A lock on the file excludes other downloads.
final class PartialFile: Sendable {
    let url: URL
    private let folder: Folder
    private let descriptor: CInt
    private var name: String { url.lastPathComponent }

    static func isName(_ name: String) -> Bool {
        name.wholeMatch(of: /\.turnpike-[0-9a-f]{32}\.part/) != nil
    }

    static func create(in directory: URL) throws -> PartialFile {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let url = directory.appending(
            path: ".turnpike-\(bytes.hexadecimal).part", directoryHint: .notDirectory)
        return try attempt {
            let folder = try Folder.holding(url)
            let descriptor = try folder.openFile(
                url.lastPathComponent, O_CREAT | O_EXCL | O_RDWR)
            _ = flock(descriptor, LOCK_EX | LOCK_NB)
            return PartialFile(url: url, in: folder, descriptor: descriptor)
        }
    }

    /// Opens an earlier download's file, or returns nil for a missing, locked or wrong file.
    static func reopen(_ url: URL) -> PartialFile? {
        guard url.isFileURL, isName(url.lastPathComponent),
            let folder = try? Folder.holding(url),
            let descriptor = try? folder.openFile(url.lastPathComponent, O_RDWR)
        else { return nil }
        let file = PartialFile(url: url, in: folder, descriptor: descriptor)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
            status.st_nlink == 1, flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return nil }
        return file
    }

    private init(url: URL, in folder: Folder, descriptor: CInt) {
        self.url = url
        self.folder = folder
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    var size: Int64 {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    func write(_ data: Data, at offset: Int64) throws {
        do {
            try writeWhole(data, to: descriptor, at: offset, action: "write to the file")
        } catch {
            throw Self.fault(error)
        }
    }

    func truncate(to size: Int64) throws {
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw Self.fault("empty the file") }
    }

    /// Moves the file to the final name atomically, and replaces a link with this name.
    func move(to destination: URL, replacing: Bool) throws {
        try Self.attempt {
            let isHere = destination.deletingLastPathComponent() == url.deletingLastPathComponent()
            let folder = isHere ? self.folder : try Folder.holding(destination)
            let target = destination.lastPathComponent
            if !replacing {
                do throws(FileFault) {
                    try self.folder.link(name, in: folder, as: target)
                    return unlink()
                } catch  where error.code != EEXIST {
                    // Without hard links, an empty file reserves the name first.
                    close(try folder.openFile(target, O_CREAT | O_EXCL | O_WRONLY))
                    do {
                        return try self.folder.move(name, to: folder, as: target)
                    } catch {
                        _ = try? folder.remove(target)
                        throw error
                    }
                }
            }
            try self.folder.move(name, to: folder, as: target)
        }
    }

    func unlink() { _ = try? folder.remove(name) }

    private static func attempt<Value>(_ action: () throws -> Value) throws -> Value {
        do {
            return try action()
        } catch let error as FileFault {
            throw fault(error)
        }
    }

    private static func fault(_ action: String) -> ClientError { fault(FileFault(action)) }

    private static func fault(_ fault: FileFault) -> ClientError {
        ClientError(.download, "the download: \(fault)", underlying: fault)
    }
}

extension Folder {
    /// Opens the directory of a file with any owner and mode, because the user chose the directory.
    static func holding(_ file: URL) throws(FileFault) -> Folder {
        try named(file.deletingLastPathComponent().path(percentEncoded: false), .any)
    }
}

extension RequestBody {
    /// Writes the content to a file in the sent form, for example to inspect a form.
    ///
    /// The complete file appears at once, with mode 0600. Writing consumes a one-shot stream.
    /// - Parameters:
    ///   - file: The file.
    ///   - replacing: Whether an existing file is replaced. If false, an existing file is an error.
    /// - Returns: The number of bytes.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/download`` if the file cannot be created or
    ///   written, ``/TurnpikeCore/ClientError/Code/invalidRequest`` if `file` is not a file URL,
    ///   and the error of the content if reading it fails.
    @discardableResult
    public func write(to file: URL, replacing: Bool = false) async throws -> Int64 {
        guard file.isFileURL else {
            throw ClientError(.invalidRequest, "the URL to write the content to is not a file URL")
        }
        let reader = try open()
        let partial = try PartialFile.create(in: file.deletingLastPathComponent())
        do {
            var count: Int64 = 0
            while let chunk = try await reader.next() {
                try partial.write(chunk, at: count)
                count += Int64(chunk.count)
            }
            try partial.move(to: file, replacing: replacing)
            return count
        } catch {
            partial.unlink()
            throw error
        }
    }
}
