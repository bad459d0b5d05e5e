// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("The file of a cassette")
struct CassetteFileTests {
    private static let url: Target = "https://a.example/items"
    private let folder = CassetteFolder()

    @Test(
        "A recording refuses a link in place of the file, before anything is sent",
        arguments: [CassetteTransport.Mode.record, .recordMissing], [true, false])
    func link(mode: CassetteTransport.Mode, isThere: Bool) async throws {
        let victim = folder.url.appending(path: "victim")
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        if isThere { try Data("precious".utf8).write(to: victim) }
        try FileManager.default.createSymbolicLink(at: folder.file, withDestinationURL: victim)
        let error = #expect(throws: ClientError.self) {
            try folder.recording(mode) { _ in .ok(text: "x") }
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(folder.file.path()) == true)
        #expect(error?.message.contains("the path is a symbolic link") == true)
        #expect(
            FileManager.default.contents(atPath: victim.path())
                == (isThere ? Data("precious".utf8) : nil))
    }

    @Test("A link that replaces the file later is refused too, with the reason")
    func laterLink() async throws {
        let (client, cassette, _) = try folder.recording { _ in .ok(text: "x") }
        let victim = folder.url.appending(path: "victim")
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        try Data("precious".utf8).write(to: victim)
        try FileManager.default.createSymbolicLink(at: folder.file, withDestinationURL: victim)
        #expect(try await client.get(Self.url).string() == "x")
        let error = #expect(throws: ClientError.self) { try cassette.verify() }
        #expect(error?.message.contains("the path is a symbolic link") == true)
        #expect(FileManager.default.contents(atPath: victim.path()) == Data("precious".utf8))
    }

    @Test("A replay reads through a link, and from a folder of any owner")
    func replayed() async throws {
        let (client, _, _) = try folder.recording { _ in .ok(text: "x") }
        _ = try await client.get(Self.url).string()
        let real = folder.url.appending(path: "real.har")
        try FileManager.default.moveItem(at: folder.file, to: real)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file.path(), withDestinationPath: "real.har")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o777], ofItemAtPath: folder.url.path())
        #expect(try await folder.replaying().client.get(Self.url).string() == "x")
    }

    @Test("Leftovers of a killed recording are removed by the next one")
    func leftovers() async throws {
        try folder.write("")
        let left = folder.url.appending(path: "tape.har.4711-1.tmp")
        try Data("left".utf8).write(to: left)
        let (client, _, _) = try folder.recording { _ in .ok(text: "x") }
        _ = try await client.get(Self.url).string()
        #expect(!FileManager.default.fileExists(atPath: left.path()))
    }

    @Test("A date in the future by more than the expiry has expired too")
    func future() async throws {
        let ahead = ManualClock(date: Date(timeIntervalSince1970: 1_750_000_000))
        let (client, _, _) = try folder.recording(clock: ahead) { _ in .ok(text: "x") }
        _ = try await client.get(Self.url).string()
        let options = CassetteOptions(expiry: .seconds(3600))
        for (seconds, isGiven) in [(3500.0, true), (3700, false)] {
            let clock = ManualClock(date: ahead.date - seconds)
            let (replay, _) = try folder.replaying(options: options, clock: clock)
            let text = try? await replay.get(Self.url).string()
            #expect(text == (isGiven ? "x" : nil))
        }
    }
}
