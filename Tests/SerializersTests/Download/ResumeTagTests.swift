import Foundation
import Synchronization
import Testing
import TurnpikeCore
import TurnpikeSerializers
import TurnpikeTesting

@Suite("Tags of resumed downloads")
struct ResumeTagTests {
    @Test("One that begins with a mark is a tag, and another that looks the same is another")
    func bytes() async throws {
        let server = RangeServer()
        let directory = try TemporaryDirectory()
        let tag = "\"\u{301}e\u{301}\""
        server.update {
            $0.tag = tag; $0.cut = 30_000
        }
        let broken = await #expect(throws: ClientError.self) {
            try await server.client().get("http://a.example/big.bin").download(
                to: directory.url, options: DownloadOptions(resumes: 0, keepsPartialFile: true))
        }
        let data = try #require(broken?.resumeData)
        #expect(data.validator.utf8.elementsEqual(tag.utf8))
        server.update {
            $0.tag = "\"\u{301}\u{E9}\""; $0.cut = nil
        }
        let other = try TemporaryDirectory()
        let file = try await server.client().get("http://a.example/big.bin").download(
            to: other.url, options: DownloadOptions(resumeData: data))
        #expect(try Data(contentsOf: file.url) == server.setup.withLock { $0.content })
        #expect(file.resumedFrom != 30_000)
    }

    @Test(
        "A part of what was changed at another date, or has a tag now, is none",
        arguments: [
            (nil, "Mon, 01 Jan 2024 00:00:00 GMT", true), (nil, nil, true),
            (nil, "Tue, 02 Jan 2024 00:00:00 GMT", false),
            ("\"v2\"", "Mon, 01 Jan 2024 00:00:00 GMT", false),
        ] as [(String?, String?, Bool)])
    func dates(tag: String?, date: String?, isSame: Bool) async throws {
        let server = RangeServer()
        let directory = try TemporaryDirectory()
        server.update {
            $0.tag = nil
            $0.headers[.lastModified] = "Mon, 01 Jan 2024 00:00:00 GMT"
            $0.headers[.date] = "Wed, 03 Jan 2024 00:00:00 GMT"
            $0.cut = 30_000
        }
        let call = server.client().get("http://a.example/big.bin")
        let kept = DownloadOptions(resumes: 0, keepsPartialFile: true)
        await #expect(throws: ClientError.self) {
            try await call.download(to: directory.url, options: kept)
        }
        server.update {
            $0.cut = nil
            $0.change = { headers, _ in
                headers[.eTag] = tag
                headers[.lastModified] = date
                return 206
            }
        }
        let file = try await call.download(to: directory.url, options: kept)
        #expect(file.resumedFrom == (isSame ? 30_000 : 0))
        #expect(server.ranges == [nil, "bytes=30000-"] + (isSame ? [] : [nil]))
    }
}
