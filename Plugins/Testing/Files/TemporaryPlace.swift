import Foundation
import TurnpikeCore
import TurnpikeSupport

/// A temporary folder of a test, removed when this object is released.
public final class TemporaryPlace: Sendable {
    /// The path of the folder.
    public let path: String

    /// Creates the folder with mode 0700.
    public init() {
        let url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "turnpike-\(UUID().uuidString)")
        path = url.path(percentEncoded: false)
        try? FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Returns the path of a name in the folder.
    public subscript(name: String) -> String { "\(path)/\(name)" }

    /// Creates a subfolder with mode 0700.
    public func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(
            atPath: self[name], withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
    }

    /// Writes a file of mode 0600.
    public func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: self[name]))
        try setMode(0o600, of: name)
    }

    /// Creates a symbolic link.
    public func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: self[name], withDestinationPath: target)
    }

    /// Sets the mode of a file or folder.
    public func setMode(_ mode: Int, of name: String) throws {
        guard unsafe chmod(self[name], mode_t(mode)) == 0 else { throw FileFault("set a mode") }
    }

    /// Creates a named pipe of mode 0600.
    public func makePipe(_ name: String) throws {
        guard unsafe mkfifo(self[name], 0o600) == 0 else { throw FileFault("create a pipe") }
    }

    /// Changes the owner of a file, which only the superuser can.
    public func give(_ name: String, to user: UInt32) throws {
        guard unsafe lchown(self[name], user, user) == 0 else { throw FileFault("set an owner") }
    }

    /// Returns the mode of a file or folder.
    public func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: self[name])[.posixPermissions] as? Int
    }

    /// Whether a name refers to a symbolic link.
    public func isLink(_ name: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: self[name])) != nil
    }

    /// Returns the names in a folder, sorted.
    public func names(_ name: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: self[name])) ?? []).sorted()
    }
}
