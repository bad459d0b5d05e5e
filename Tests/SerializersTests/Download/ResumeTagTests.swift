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
}
