// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The file by which a later call finds the partial file of an earlier call.
struct ResumeNote: Sendable {
    private let file: URL
    private let directory: URL
    private let resource: String

    private static let maxBytes = 65_536

    /// Creates the note for a URL and a destination, or nil if the directory is not known in
    /// advance.
    init?(_ url: URL, _ destination: DownloadDestination) {
        guard let directory = destination.directory else { return nil }
        self.directory = directory
        resource = ResumeData.resource(url)
        let name = resource + "\n" + destination.nameInDirectory
        let digest = SHA256.digest(of: Data(name.utf8))
        file = directory.appending(
            path: ".turnpike-\(digest.prefix(16).hexadecimal).resume",
            directoryHint: .notDirectory)
    }

    /// Returns the data for the same resource, if the note exists and is valid.
    func read() -> ResumeData? {
        guard
            let descriptor = try? Folder.holding(file).openFile(file.lastPathComponent, O_RDONLY)
        else { return nil }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
            status.st_size <= Self.maxBytes,
            let content = try? handle.read(upToCount: Self.maxBytes),
            let data = try? JSONDecoder().decode(ResumeData.self, from: content),
            data.resource == resource
        else { return nil }
        // The partial file is always looked for beside the note, even if the directory was moved.
        return ResumeData(
            validator: data.validator, totalBytes: data.totalBytes,
            partialFile: directory.appending(
                path: data.partialFile.lastPathComponent, directoryHint: .notDirectory),
            suggestedName: data.suggestedName, resource: resource)
    }

    /// Writes the note atomically.
    func write(_ data: ResumeData) throws {
        let partial = try PartialFile.create(in: directory)
        do {
            try partial.write(try JSONEncoder().encode(data), at: 0)
            try partial.move(to: file, replacing: true)
        } catch {
            partial.unlink()
            throw error
        }
    }

    func remove() { _ = try? Folder.holding(file).remove(file.lastPathComponent) }
}
