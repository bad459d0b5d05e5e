import Foundation
import TurnpikeCore

/// A folder of the user's own, which goes with its owner.
package final class TemporaryPlace: Sendable {
    package let path: String

    package init() {
        let url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "turnpike-\(UUID().uuidString)")
        path = url.path(percentEncoded: false)
        try? FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package subscript(name: String) -> String { "\(path)/\(name)" }

    package func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(
            atPath: self[name], withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
    }

    package func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: self[name]))
        try setMode(0o600, of: name)
    }

    package func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: self[name], withDestinationPath: target)
    }

    package func setMode(_ mode: Int, of name: String) throws {
        guard unsafe chmod(self[name], mode_t(mode)) == 0 else { throw FileFault("set a mode") }
    }

    package func makePipe(_ name: String) throws {
        guard unsafe mkfifo(self[name], 0o600) == 0 else { throw FileFault("make a pipe") }
    }

    package func give(_ name: String, to user: UInt32) throws {
        guard unsafe lchown(self[name], user, user) == 0 else { throw FileFault("give it away") }
    }

    package func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: self[name])[.posixPermissions] as? Int
    }

    package func isLink(_ name: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: self[name])) != nil
    }

    package func names(_ name: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: self[name])) ?? []).sorted()
    }
}
