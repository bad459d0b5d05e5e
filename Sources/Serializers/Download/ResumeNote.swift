import Foundation
import TurnpikeCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The file by which a later call finds what an earlier one left beside its destination.
struct ResumeNote: Sendable {
    private let file: URL
    private let directory: URL
    private let resource: String

    private static let maxBytes = 65_536

    /// The note for a URL and a destination; nil for one that is not known in advance.
    init?(_ url: URL, _ destination: DownloadDestination) {
        guard let directory = destination.directory else { return nil }
        self.directory = directory
        resource = ResumeData.resource(url)
        var hash = SHA256()
        hash.update(Data((resource + "\n" + destination.nameInDirectory).utf8))
        file = directory.appending(
            path: ".turnpike-\(hash.finish().prefix(16).hexadecimal).resume",
            directoryHint: .notDirectory)
    }

    /// What was left for the same resource, if it is there and makes sense.
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
        // Beside the note and nowhere else, wherever the directory has been moved to.
        return ResumeData(
            validator: data.validator, totalBytes: data.totalBytes,
            partialFile: directory.appending(
                path: data.partialFile.lastPathComponent, directoryHint: .notDirectory),
            suggestedName: data.suggestedName, resource: resource)
    }

    /// Leaves a note, whole or not at all.
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
