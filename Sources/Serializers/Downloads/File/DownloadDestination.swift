// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// Where a download is saved, and what it may create or replace.
///
/// ```swift
/// let file = try await client.get("big.iso").download(to: .directory(downloads).creatingDirectories())
/// ```
///
/// The content is written to a hidden file of mode 0600 in the destination directory. The file is
/// renamed when it is complete, so nobody sees a partial file.
public struct DownloadDestination: Sendable {
    private enum Place: Sendable {
        case directory(URL, name: String?)
        case file(URL)
        case choice(@Sendable (ResponseHead, String) throws -> URL)
    }

    private let place: Place
    private(set) var createsDirectories = false
    private(set) var replaces = false

    /// A directory.
    ///
    /// Without a given name, the file gets the name that the response suggests, made safe.
    public static func directory(_ directory: URL, name: String? = nil) -> Self {
        Self(place: .directory(directory, name: name))
    }

    /// A file.
    public static func file(_ file: URL) -> Self { Self(place: .file(file)) }

    /// A file with a random name in the system's directory for temporary files.
    public static var temporary: Self {
        let directory = FileManager.default.temporaryDirectory
        return .choosing { _, _ in directory.appending(path: "turnpike-" + UUID().uuidString) }
    }

    /// A file that is chosen when the response head arrives.
    ///
    /// The closure receives the head and the name that it suggests, made safe.
    public static func choosing(
        _ choose: @escaping @Sendable (_ head: ResponseHead, _ suggestedName: String) throws -> URL
    ) -> Self { Self(place: .choice(choose)) }

    /// Returns the same destination, which creates missing directories.
    public func creatingDirectories() -> Self {
        var copy = self
        copy.createsDirectories = true
        return copy
    }

    /// Returns the same destination, which replaces an existing file.
    ///
    /// Without it, the download fails if the file exists.
    public func replacingFile() -> Self {
        var copy = self
        copy.replaces = true
        return copy
    }

    /// The directory, if it is known before the response.
    var directory: URL? {
        switch place {
        case .directory(let directory, _): directory
        case .file(let file): file.deletingLastPathComponent()
        case .choice: nil
        }
    }

    /// Distinguishes this destination from others in the same directory.
    var nameInDirectory: String {
        switch place {
        case .directory(_, let name): name ?? ""
        case .file(let file): file.lastPathComponent
        case .choice: ""
        }
    }

    /// Checks the directory before anything is sent.
    ///
    /// Whether the file name is free is checked when the response arrives, and again when the file
    /// is renamed.
    func check() throws {
        guard let directory else { return }
        try prepare(directory)
        _ = try fixedFile()
    }

    /// Returns the file for a response with a suggested name.
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
        guard file.isFileURL else {
            throw ClientError(.download, "the destination is not a file URL")
        }
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
            else { throw ClientError(.download, "the name to download to is not a file name") }
            return directory.appending(path: name, directoryHint: .notDirectory)
        case .directory, .choice: return nil
        }
    }

    private func prepare(_ directory: URL) throws {
        guard directory.isFileURL else {
            throw ClientError(.download, "the destination is not a file URL")
        }
        var isDirectory: ObjCBool = false
        let path = directory.path(percentEncoded: false)
        if unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
            if isDirectory.boolValue { return }
            throw ClientError(.download, "the directory to download to is not a directory")
        }
        guard createsDirectories else {
            throw ClientError(
                .download, "the directory to download to does not exist; use creatingDirectories()")
        }
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true)
        } catch {
            throw ClientError(
                .download, "the directory to download to cannot be created", underlying: error)
        }
    }

    private func checkFree(_ file: URL) throws {
        // Links are not followed: a dangling link occupies its name too.
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: file.path(percentEncoded: false))
        guard let attributes else { return }
        if attributes[.type] as? FileAttributeType == .typeDirectory {
            throw ClientError(.download, "the file to download to is a directory")
        }
        if !replaces {
            throw ClientError(.download, "the file to download to exists; use replacingFile()")
        }
    }
}
