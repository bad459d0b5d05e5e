// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Folder")
struct FolderTests {
    private let place = TemporaryFolder()

    private func fault(_ action: () throws -> Void) -> FileFault? {
        do {
            try action()
            return nil
        } catch {
            return error as? FileFault
        }
    }

    @Test(
        "A link in place of a folder or a file is refused by name", arguments: [true, false])
    func links(isTrusted: Bool) throws {
        let trust: Folder.Trust = isTrusted ? .own : .any
        try place.makeFolder("elsewhere")
        try place.write("secret", to: "elsewhere/file")
        try place.link("below", to: place["elsewhere"])
        try place.link("file", to: place["elsewhere/file"])
        let folder = try Folder.named(place.path, trust)
        let below = fault { _ = try folder.folder("below") }
        #expect(below?.description.contains("\(place.path)/below") == true)
        #expect(below?.description.contains("symbolic link") == true)
        #expect(fault { _ = try folder.folder("below", making: true) } != nil)
        let file = fault { close(try folder.openFile("file", O_RDWR)) }
        #expect(file?.description.contains("symbolic link") == true)
        #expect(fault { close(try folder.openFile("file", O_RDWR | O_CREAT)) } != nil)
        #expect(fault { try folder.checkFile("file") }?.description.contains("link") == true)
        // What the link leads to stays when the link goes.
        #expect(try folder.remove("file"))
        #expect(try String(contentsOfFile: place["elsewhere/file"], encoding: .utf8) == "secret")
    }

    @Test("The folder that the user names may be a link")
    func named() throws {
        try place.makeFolder("real")
        try place.link("alias", to: place["real"])
        let folder = try Folder.named(place["alias"], .own)
        _ = try folder.folder("made", making: true)
        #expect(place.names("real") == ["made"])
    }

    @Test(
        "A folder or file that others may write to is refused, and its mode is reported",
        arguments: [0o777, 0o770, 0o707, 0o722])
    func modes(mode: Int) throws {
        try place.makeFolder("a")
        try place.makeFolder("a/b")
        try place.write("x", to: "a/file")
        try place.setMode(mode, of: "a")
        let refused = fault { _ = try Folder.named(place["a"], .own) }
        #expect(refused?.description.contains(place["a"]) == true)
        #expect(refused?.description.contains(String(mode, radix: 8)) == true)
        #expect(refused?.description.contains("chmod go-w") == true)
        _ = try Folder.named(place["a"], .any).folder("b")
        // A sticky one lets nobody touch what is another's.
        try place.setMode(mode | 0o1000, of: "a")
        let folder = try Folder.named(place["a"], .own)
        try place.setMode(mode, of: "a/b")
        #expect(fault { _ = try folder.folder("b") } != nil)
        try place.setMode(mode | 0o1000, of: "a/b")
        #expect(fault { _ = try folder.folder("b") } != nil)
        try place.setMode(0o700, of: "a/b")
        _ = try folder.folder("b")
        try place.setMode(mode & 0o666, of: "a/file")
        #expect(fault { close(try folder.openFile("file", O_RDONLY)) } != nil)
        try place.setMode(0o644, of: "a/file")
        close(try folder.openFile("file", O_RDONLY))
    }

    @Test(
        "A folder or file of another user is refused", .needs("to run as root", if: geteuid() == 0))
    func owners() throws {
        try place.makeFolder("a")
        try place.makeFolder("a/b")
        try place.write("x", to: "a/file")
        try place.link("a/link", to: "file")
        let folder = try Folder.named(place["a"], .own)
        for name in ["a/b", "a/file", "a/link", "a"] { try place.give(name, to: 4711) }
        let refusals = [
            fault { _ = try Folder.named(place["a"], .own) }, fault { _ = try folder.folder("b") },
            fault { close(try folder.openFile("file", O_RDONLY)) },
            fault { _ = try folder.target(ofLink: "link") },
        ]
        for refusal in refusals {
            #expect(refusal?.description.contains("another user (ID 4711)") == true)
        }
        let lax = try Folder.named(place["a"], .any)
        _ = try lax.folder("b")
        #expect(try lax.target(ofLink: "link") == "file")
    }

    @Test("A file that is not regular is refused at once: a pipe does not wait for its other end")
    func kinds() throws {
        try place.makePipe("pipe")
        try place.makeFolder("folder")
        let folder = try Folder.named(place.path, .any)
        for name in ["pipe", "folder"] {
            #expect(fault { close(try folder.openFile(name, O_RDONLY)) }?.code == EINVAL)
            #expect(fault { try folder.checkFile(name) }?.code == EINVAL)
        }
        #expect(fault { close(try folder.openFile("none", O_RDONLY)) }?.code == ENOENT)
        try folder.checkFile("none")
    }

    @Test("An open folder stays the same, whatever replaces it")
    func replaced() throws {
        try place.makeFolder("a")
        try place.makeFolder("victim")
        let folder = try Folder.named(place.path, .any).folder("a")
        #expect(folder.isStillThere)
        try FileManager.default.moveItem(atPath: place["a"], toPath: place["moved"])
        try place.link("a", to: place["victim"])
        #expect(!folder.isStillThere)
        close(try folder.openFile("file", O_CREAT | O_WRONLY))
        #expect(place.names("victim").isEmpty && place.names("moved") == ["file"])
        #expect(try folder.names() == ["file"])
        #expect(try folder.remove("file") && folder.names().isEmpty)
        #expect(try !folder.remove("file"))
    }

    @Test("Files move and are linked from folder to folder")
    func moves() throws {
        let folder = try Folder.named(place.path, .own)
        let other = try folder.folder("other", making: true)
        close(try folder.openFile("a", O_CREAT | O_WRONLY))
        try folder.link("a", in: other, as: "b")
        #expect(fault { try folder.link("a", in: other, as: "b") }?.code == EEXIST)
        try folder.move("a", to: other, as: "b2")
        #expect(try other.names().sorted() == ["b", "b2"])
        #expect(try place.mode("other") == 0o700 && place.mode("other/b") == 0o600)
    }

    @Test("A folder that may not be listed can still be used")
    func unlisted() throws {
        try place.makeFolder("a")
        try place.setMode(0o300, of: "a")
        let folder = try Folder.named(place["a"], .any)
        close(try folder.openFile("file", O_CREAT | O_WRONLY))
        #expect(try folder.status(of: "file") != nil)
        try place.setMode(0o700, of: "a")
    }
}
