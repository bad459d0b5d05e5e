// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeDownloads

@Suite("The folder of a download")
struct DownloadFolderTests {
    private let server = RangeServer()

    @Test("A link that replaces the folder redirects no write", arguments: [true, false])
    func swapped(replaces: Bool) async throws {
        let directory = TemporaryFolder()
        let folder = directory.url.appending(path: "downloads", directoryHint: .isDirectory)
        let moved = directory.url.appending(path: "moved")
        let victim = directory.url.appending(path: "victim", directoryHint: .isDirectory)
        for url in [folder, victim] {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        }
        try Data("precious".utf8).write(to: victim.appending(path: "big.bin"))
        let hasMoved = Atomic(false)
        let destination = DownloadDestination.file(folder.appending(path: "big.bin"))
        let file = try? await server.client().get("http://a.example/big.bin").download(
            to: replaces ? destination.replacingFile() : destination
        ) { _ in
            if hasMoved.exchange(true, ordering: .relaxed) { return }
            try? FileManager.default.moveItem(at: folder, to: moved)
            try? FileManager.default.createSymbolicLink(
                atPath: directory.url.path() + "downloads", withDestinationPath: victim.path())
        }
        #expect(file != nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: victim.path())
        #expect(names == ["big.bin"])
        #expect(try Data(contentsOf: victim.appending(path: "big.bin")) == Data("precious".utf8))
        let content = try Data(contentsOf: moved.appending(path: "big.bin"))
        #expect(content == server.setup.withLock { $0.content })
    }

    @Test("A file that was removed during a download is not replaced by an empty one")
    func removed() async throws {
        let directory = TemporaryFolder()
        let error = await #expect(throws: ClientError.self) {
            try await server.client().get("http://a.example/big.bin").download(to: directory.url) {
                _ in
                for name in directory.names {
                    try? FileManager.default.removeItem(at: directory.url.appending(path: name))
                }
            }
        }
        #expect(error?.code == .download)
        #expect(directory.names.isEmpty)
    }

    @Test("Discarding resume data removes one file, and no folder")
    func discarded() async throws {
        let directory = TemporaryFolder()
        server.update { $0.cut = 30_000 }
        let error = await #expect(throws: ClientError.self) {
            try await server.client().get("http://a.example/big.bin").download(
                to: directory.url, options: DownloadOptions(resumes: 0, keepsPartialFile: true))
        }
        let data = try #require(error?.resumeData)
        let part = data.partialFile
        try FileManager.default.removeItem(at: part)
        try FileManager.default.createDirectory(at: part, withIntermediateDirectories: false)
        let inside = part.appending(path: "precious")
        try Data().write(to: inside)
        data.discard()
        #expect(FileManager.default.fileExists(atPath: inside.path()))
    }
}
