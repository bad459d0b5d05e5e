public import Foundation
public import TurnpikeCore

/// Where a download goes, and what may be done for it.
///
/// ```swift
/// let file = try await client.get("big.iso").download(to: .directory(downloads).creatingDirectories())
/// ```
///
/// What comes is written into a hidden file of mode 0600 beside the destination, and takes its name
/// when all is there: nobody sees half a file.
public struct DownloadDestination: Sendable {
    private enum Place: Sendable {
        case directory(URL, name: String?)
        case file(URL)
        case choice(@Sendable (ResponseHead, String) throws -> URL)
    }

    private let place: Place
    private(set) var createsDirectories = false
    private(set) var replaces = false

    /// A directory; the file's name is the one that the response suggests, made safe, unless one is
    /// given.
    public static func directory(_ directory: URL, name: String? = nil) -> Self {
        Self(place: .directory(directory, name: name))
    }

    /// A file.
    public static func file(_ file: URL) -> Self { Self(place: .file(file)) }

    /// A file in the system's directory for temporary files, under a random name.
    public static var temporary: Self {
        let directory = FileManager.default.temporaryDirectory
        return .choosing { _, _ in directory.appending(path: "turnpike-" + UUID().uuidString) }
    }

    /// A file that is chosen when the head of the response has come.
    ///
    /// The closure gets the head and the name that it suggests, made safe.
    public static func choosing(
        _ choose: @escaping @Sendable (_ head: ResponseHead, _ suggestedName: String) throws -> URL
    ) -> Self { Self(place: .choice(choose)) }

    /// The same place, whose directories are made if they are missing.
    public func creatingDirectories() -> Self {
        var copy = self
        copy.createsDirectories = true
        return copy
    }

    /// The same place, where a file that is there is replaced; without it the download fails.
    public func replacingFile() -> Self {
        var copy = self
        copy.replaces = true
        return copy
    }

    /// The directory, where it is known before a response has come.
    var directory: URL? {
        switch place {
        case .directory(let directory, _): directory
        case .file(let file): file.deletingLastPathComponent()
        case .choice: nil
        }
    }

    /// What tells this destination from others in its directory.
    var nameInDirectory: String {
        switch place {
        case .directory(_, let name): name ?? ""
        case .file(let file): file.lastPathComponent
        case .choice: ""
        }
    }

    /// Looks what is wrong with the directory before anything is sent; whether the name is free is
    /// asked when the response is there, and once more when the file takes it.
    func check() throws {
        guard let directory else { return }
        try prepare(directory)
        _ = try fixedFile()
    }

    /// The file for a response, and the name that it, or the one before it, has suggested.
    func file(for head: ResponseHead, suggestedName: String) throws -> URL {
        let file: URL
        if let fixed = try fixedFile() {
            file = fixed
        } else {
            switch place {
            case .directory(let directory, _):
                file = directory.appending(path: suggestedName, directoryHint: .notDirectory)
            case .choice(let choose): file = try choose(head, suggestedName)
            case .file(let fixed): file = fixed
            }
        }
        guard file.isFileURL else { throw ClientError(.download, "the destination is no file URL") }
        try prepare(file.deletingLastPathComponent())
        try checkFree(file)
        return file
    }

    private func fixedFile() throws -> URL? {
        switch place {
        case .file(let file): return file
        case .directory(let directory, let name?):
            guard !name.isEmpty, name != ".", name != "..",
                !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 })
            else { throw ClientError(.download, "the name to download to is no file name") }
            return directory.appending(path: name, directoryHint: .notDirectory)
        case .directory, .choice: return nil
        }
    }

    private func prepare(_ directory: URL) throws {
        guard directory.isFileURL else {
            throw ClientError(.download, "the destination is no file URL")
        }
        var isDirectory: ObjCBool = false
        let path = directory.path(percentEncoded: false)
        if unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
            if isDirectory.boolValue { return }
            throw ClientError(.download, "the directory to download to is no directory")
        }
        guard createsDirectories else {
            throw ClientError(
                .download, "the directory to download to does not exist; let it be created")
        }
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true)
        } catch {
            throw ClientError(
                .download, "the directory to download to cannot be made", underlying: error)
        }
    }

    private func checkFree(_ file: URL) throws {
        // Links are not followed: one that leads nowhere occupies its name too.
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: file.path(percentEncoded: false))
        guard let attributes else { return }
        if attributes[.type] as? FileAttributeType == .typeDirectory {
            throw ClientError(.download, "the file to download to is a directory")
        }
        if !replaces {
            throw ClientError(.download, "the file to download to exists; let it be replaced")
        }
    }
}
