// SPDX-License-Identifier: Apache-2.0

package import Foundation
import TurnpikeSupport

/// A temporary folder, which is removed when this object is released.
package final class TemporaryFolder: Sendable {
    /// The path of the folder.
    package let path: String

    /// Creates the folder with mode 0700.
    package init() {
        let url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "turnpike-\(UUID().uuidString)")
        path = url.path(percentEncoded: false)
        try? FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The folder as a URL.
    package var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

    /// The path of a name in the folder.
    package subscript(name: String) -> String { "\(path)/\(name)" }

    /// Creates a subfolder with mode 0700.
    package func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(
            atPath: self[name], withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
    }

    /// Writes a file of mode 0600.
    /// - Returns: Its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(filePath: self[name]))
        try setMode(0o600, of: name)
        return self[name]
    }

    /// Creates a symbolic link.
    package func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: self[name], withDestinationPath: target)
    }

    /// Sets the mode of a file or folder.
    package func setMode(_ mode: Int, of name: String) throws {
        guard unsafe chmod(self[name], mode_t(mode)) == 0 else { throw FileFault("set a mode") }
    }

    /// Creates a named pipe of mode 0600.
    package func makePipe(_ name: String) throws {
        guard unsafe mkfifo(self[name], 0o600) == 0 else { throw FileFault("create a pipe") }
    }

    /// Changes the owner of a file, which only the superuser can.
    package func give(_ name: String, to user: UInt32) throws {
        guard unsafe lchown(self[name], user, user) == 0 else { throw FileFault("set an owner") }
    }

    /// The mode of a file or folder.
    package func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: self[name])[.posixPermissions] as? Int
    }

    /// Whether a name refers to a symbolic link.
    package func isLink(_ name: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: self[name])) != nil
    }

    /// The content of a file, or nil if there is none.
    package func contents(of name: String) -> Data? {
        FileManager.default.contents(atPath: self[name])
    }

    /// The names in the folder, sorted, hidden ones too.
    package var names: [String] { names("") }

    /// The names in a subfolder, sorted.
    package func names(_ name: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: self[name])) ?? []).sorted()
    }
}
