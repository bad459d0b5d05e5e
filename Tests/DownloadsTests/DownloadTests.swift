// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeDownloads

@Suite("Download")
struct DownloadTests {
    private let directory = TemporaryFolder()
    private let server = RangeServer()
    private var content: Data { server.setup.withLock { $0.content } }

    private func call(_ path: String = "big.bin", _ stack: Stack = []) -> Call {
        server.client(stack).get(Target("http://a.example/\(path)"))
    }

    private func isWhole(_ file: DownloadedFile) throws -> Bool {
        try Data(contentsOf: file.url) == content
    }

    @Test("The file takes the URL's name in a directory, mode 0600, and nothing else is left")
    func whole() async throws {
        let seen = Mutex<[TransferProgress]>([])
        let file = try await call().download(to: directory.url) { progress in
            seen.withLock { $0.append(progress) }
        }
        #expect(try isWhole(file))
        #expect(directory.names == ["big.bin"])
        #expect(file.bytes == 100_000 && file.resumedFrom == 0 && file.head.status == 200)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.url.path())
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let progress = seen.withLock { $0 }
        #expect(progress.map(\.bytesReceived) == progress.map(\.bytesReceived).sorted())
        #expect(progress.last == TransferProgress(bytesReceived: 100_000, totalToReceive: 100_000))
        let sent = try #require(server.transport.sent.first).request
        #expect(sent.headers[.acceptEncoding] == "identity" && sent.headers[.range] == nil)
    }

    @Test("The suggested name is used, made safe")
    func suggested() async throws {
        server.update { $0.headers[.contentDisposition] = "attachment; filename=\"../../x.txt\"" }
        let file = try await call().download(to: .directory(directory.url))
        #expect(directory.names == ["x.txt"] && file.suggestedName == "x.txt")
        let chosen = try await call().download(
            to: .choosing { [directory] head, name in
                directory.url.appending(path: "\(head.status.code)-\(name)")
            })
        #expect(chosen.url.lastPathComponent == "200-x.txt")
    }

    @Test("A missing directory is an error unless it may be created")
    func missingDirectory() async throws {
        let place = DownloadDestination.file(directory.url.appending(path: "a/b/c.bin"))
        let error = await #expect(throws: ClientError.self) { try await call().download(to: place) }
        #expect(error?.code == .download && server.transport.sentCount == 0)
        let file = try await call().download(to: place.creatingDirectories())
        #expect(try isWhole(file))
    }

    @Test("An existing file is an error unless it may be replaced")
    func occupied() async throws {
        let file = directory.url.appending(path: "big.bin")
        try Data("old".utf8).write(to: file)
        let error = await #expect(throws: ClientError.self) {
            try await call().download(to: .file(file))
        }
        #expect(error?.code == .download)
        #expect(try Data(contentsOf: file) == Data("old".utf8))
        #expect(directory.names == ["big.bin"])
        #expect(try isWhole(try await call().download(to: .file(file).replacingFile())))
    }

    @Test("Links are replaced, never written through")
    func links() async throws {
        let victim = directory.url.appending(path: "victim")
        try Data("precious".utf8).write(to: victim)
        let link = directory.url.appending(path: "big.bin")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: victim)
        await expectError(.download) { try await call().download(to: .file(link)) }
        #expect(try isWhole(try await call().download(to: .file(link).replacingFile())))
        #expect(try Data(contentsOf: victim) == Data("precious".utf8))
        #expect(directory.names == ["big.bin", "victim"])
    }

    @Test("A refused download shows the beginning of the response, however long it is")
    func refusedAtLength() async throws {
        let content = Data(repeating: 0x78, count: 10_000)
        let transport = MockTransport { _ in
            .stream([content.prefix(3000), content.dropFirst(3000)], status: 404)
        }
        let client = Client(transport: transport, stack: [], serializers: SerializerTable())
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).download(to: directory.url)
        }
        #expect(error?.code == .validation && error?.responseBody == content.prefix(4096))
    }

    @Test(
        "A name with a slash, or a URL that is not a file URL, is refused",
        arguments: ["a/b", "a/\u{301}b", "..", "", "a\0b"])
    func badNames(name: String) async throws {
        let error = await #expect(throws: ClientError.self) {
            try await call().download(to: .directory(directory.url, name: name))
        }
        #expect(error?.code == .download)
        let web = try #require(URL(string: "http://a.example/x"))
        await expectError(.download) { try await call().download(to: .file(web)) }
    }

    @Test("An unsuccessful response is not saved")
    func errorStatus() async throws {
        let transport = MockTransport { _ in .status(404, body: Data("not found".utf8)) }
        let client = Client(transport: transport, stack: [], serializers: SerializerTable())
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).download(to: directory.url)
        }
        #expect(error?.code == .validation && error?.response?.status == 404)
        #expect(error?.responseBody == Data("not found".utf8))
        #expect(directory.names.isEmpty)
    }

    @Test("A transfer that breaks off is resumed by a range within the call")
    func resumes() async throws {
        server.update { $0.cut = 30_000 }
        let file = try await call().download(to: directory.url)
        #expect(try isWhole(file))
        #expect(server.ranges == [nil, "bytes=30000-", "bytes=60000-", "bytes=90000-"])
        #expect(server.transport.sent.last?.request.headers[.ifRange] == "\"v1\"")
        #expect(directory.names == ["big.bin"])
    }

    @Test("A download without a strong validator is not resumed")
    func weak() async throws {
        server.update {
            $0.cut = 30_000
            $0.tag = "W/\"v1\""
        }
        let error = await #expect(throws: ClientError.self) {
            try await call().download(
                to: directory.url, options: DownloadOptions(keepsPartialFile: true))
        }
        #expect(error?.code == .incomplete && error?.resumeData == nil)
        #expect(server.ranges == [nil] && directory.names.isEmpty)
    }

    @Test("A modification date is used if it is well before the response's date")
    func date() async throws {
        server.update {
            $0.cut = 60_000
            $0.tag = nil
            $0.headers[.lastModified] = "Wed, 01 Jan 2020 00:00:00 GMT"
            $0.headers[.date] = "Wed, 01 Jan 2020 00:00:01 GMT"
        }
        #expect(try isWhole(try await call().download(to: directory.url)))
        #expect(server.transport.sent.last?.request.headers[.ifRange]?.contains("2020") == true)
        server.update { $0.headers[.date] = "Wed, 01 Jan 2020 00:00:00 GMT" }
        await expectError(.incomplete) {
            try await call("other").download(to: directory.url)
        }
    }

    @Test("A changed version starts over, and no file mixes two versions")
    func changed() async throws {
        server.update { $0.cut = 30_000 }
        let options = DownloadOptions(resumes: 0, keepsPartialFile: true)
        await expectError(.incomplete) {
            try await call().download(to: directory.url, options: options)
        }
        server.update {
            $0.cut = nil
            $0.tag = "\"v2\""
            $0.content = Data(repeating: 9, count: 50_000)
        }
        let file = try await call().download(to: directory.url, options: options)
        #expect(try isWhole(file))
        #expect(server.ranges == [nil, "bytes=30000-"] && directory.names == ["big.bin"])
    }

    @Test("A failed or cancelled download leaves nothing, unless it is asked to")
    func cleanup() async throws {
        server.update { $0.cut = 30_000 }
        let error = await #expect(throws: ClientError.self) {
            try await call().download(to: directory.url, options: DownloadOptions(resumes: 0))
        }
        #expect(error?.code == .incomplete && error?.resumeData == nil)
        #expect(directory.names.isEmpty)
    }

    @Test("A body can be written to a file URL, and to no other URL")
    func writing() async throws {
        let body = RequestBody.stream {
            AsyncStream {
                $0.yield(Data("ab".utf8)); $0.finish()
            }
        }
        let web = try #require(URL(string: "http://a.example/x"))
        await expectError(.invalidRequest) { try await body.write(to: web) }
        let file = directory.url.appending(path: "body")
        #expect(try await body.write(to: file) == 2)
        #expect(try Data(contentsOf: file) == Data("ab".utf8))
        let other = RequestBody.data(Data("c".utf8))
        await expectError(.download) { try await other.write(to: file) }
        #expect(directory.names == ["body"])
    }
}
