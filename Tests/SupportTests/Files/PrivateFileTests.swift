// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("PrivateFile")
struct PrivateFileTests {
    private let place = TemporaryFolder()

    private func file(_ name: String, trust: Folder.Trust = .own, link: Bool = true) -> PrivateFile
    {
        PrivateFile(place[name], trust: trust, followsLink: link)
    }

    @Test("A link stays a link: its target is read and replaced")
    func links() throws {
        try place.makeFolder("real")
        try place.write("old", to: "real/file")
        try place.link("second", to: "first")
        try place.link("first", to: "real/file")
        let linked = file("second")
        #expect(try linked.read(maxBytes: 10) == Data("old".utf8))
        try linked.write(Data("new".utf8))
        #expect(try String(contentsOfFile: place["real/file"], encoding: .utf8) == "new")
        for name in ["first", "second"] { #expect(place.isLink(name)) }
        #expect(try place.mode("real/file") == 0o600)
        #expect(place.names("real") == ["file"])
        // One that leads nowhere yet makes its file there.
        try place.link("third", to: place["real/other"])
        try file("third").write(Data("x".utf8))
        #expect(place.isLink("third") && place.names("real") == ["file", "other"])
        try place.link("circle", to: "circle")
        #expect(throws: FileFault.self) { try file("circle").read(maxBytes: 10) }
    }

    @Test("A link is refused if it could redirect a write")
    func refusedLink() throws {
        try place.write("precious", to: "victim")
        try place.link("file", to: "victim")
        let file = file("file", trust: .any, link: false)
        for action in [{ try file.write(Data("x".utf8)) }, { try file.check() }] {
            let fault = #expect(throws: FileFault.self, performing: action)
            #expect(fault?.description.contains("symbolic link") == true)
        }
        #expect(throws: FileFault.self) { try file.read(maxBytes: 10) }
        #expect(try String(contentsOfFile: place["victim"], encoding: .utf8) == "precious")
        #expect(place.isLink("file"))
    }

    @Test("A file whose folder others may write to is neither read nor written")
    func foreignFolder() throws {
        try place.makeFolder("a")
        try place.write("x", to: "a/file")
        try place.link("link", to: "a/file")
        try place.setMode(0o777, of: "a")
        for name in ["a/file", "link"] {
            #expect(throws: FileFault.self) { try file(name).read(maxBytes: 10) }
            #expect(throws: FileFault.self) { try file(name).write(Data("y".utf8)) }
            #expect(try file(name, trust: .any).read(maxBytes: 10) == Data("x".utf8))
        }
        try place.setMode(0o700, of: "a")
        try place.setMode(0o666, of: "a/file")
        #expect(throws: FileFault.self) { try file("a/file").read(maxBytes: 10) }
        #expect(throws: FileFault.self) { try file("a/file").write(Data("y".utf8)) }
    }

    @Test("A file that is not regular is not replaced", arguments: [Folder.Trust.own, .any])
    func kinds(trust: Folder.Trust) throws {
        try place.makePipe("pipe")
        let pipe = file("pipe", trust: trust)
        #expect(throws: FileFault.self) { try pipe.read(maxBytes: 10) }
        #expect(throws: FileFault.self) { try pipe.write(Data("x".utf8)) }
        #expect(place.names("") == ["pipe"])
        for path in [place.path, place.path + "/", place["none"] + "/", "", ".", ".."] {
            #expect(throws: FileFault.self) { try PrivateFile(path).write(Data()) }
        }
    }

    @Test("Leftovers of a killed writer are removed; files of a living one and similar names stay")
    func leftovers() throws {
        let dead = ["jar.77-123.tmp", "jar.1-0.tmp"]
        let others = [
            "jar", "jar.tmp", "jar.1-2.tmp.x", "jar.1-.tmp", "jar.a-1.tmp", "ajar.1-2.tmp",
            "jar.1-2-3.tmp",
        ]
        for name in dead + others + ["jar.5-5.tmp"] { try place.write("x", to: name) }
        let living = try #require(FileHandle(forReadingAtPath: place["jar.5-5.tmp"]))
        #expect(flock(living.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        try place.link("link", to: "jar")
        try place.write("x", to: "link.1-2.tmp")
        file("link").removeLeftovers()
        // Temporary files stand beside what a link leads to.
        #expect(place.names("") == (others + ["jar.5-5.tmp", "link", "link.1-2.tmp"]).sorted())
        try living.close()
        file("jar").removeLeftovers()
        #expect(place.names("") == (others + ["link", "link.1-2.tmp"]).sorted())
        file("none/jar").removeLeftovers()
    }

    @Test("Concurrent writers leave one complete content and no other file")
    func writers() async throws {
        let file = file("file")
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try? file.write(Data(repeating: UInt8(number), count: 10_000))
                    file.removeLeftovers()
                }
            }
        }
        let content = try #require(try file.read(maxBytes: 1 << 20))
        #expect(content.count == 10_000 && Set(content).count == 1)
        #expect(place.names("") == ["file"])
    }
}
