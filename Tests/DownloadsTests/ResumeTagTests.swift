// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeDownloads

@Suite("Tags of resumed downloads")
struct ResumeTagTests {
    @Test("Tags are compared byte by byte and may begin with a combining mark")
    func bytes() async throws {
        let server = RangeServer()
        let directory = TemporaryFolder()
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
        let other = TemporaryFolder()
        let file = try await server.client().get("http://a.example/big.bin").download(
            to: other.url, options: DownloadOptions(resumeData: data))
        #expect(try Data(contentsOf: file.url) == server.setup.withLock { $0.content })
        #expect(file.resumedFrom != 30_000)
    }

    // Such a server has given the middle of another version with the right range.
    @Test(
        "A part without a validator is refused, even if the range fits",
        arguments: [true, false])
    func unnamed(isWithinCall: Bool) async throws {
        let server = RangeServer()
        let directory = TemporaryFolder()
        let old = server.setup.withLock { $0.content }
        let new = Data(old.map { $0 ^ 0xFF })
        server.update { setup in
            setup.cut = 30_000
            setup.change = { headers, rest in
                headers[.eTag] = nil
                rest = new.dropFirst(30_000)
                return 206
            }
        }
        let call = server.client().get("http://a.example/big.bin")
        let options = DownloadOptions(resumes: isWithinCall ? 1 : 0, keepsPartialFile: true)
        if !isWithinCall {
            await expectError(.incomplete) {
                try await call.download(to: directory.url, options: options)
            }
            server.update { $0.cut = nil }
        } else {
            server.update { $0.cutsOnce = true }
        }
        let file = try await call.download(to: directory.url, options: options)
        #expect(try Data(contentsOf: file.url) == old)
        #expect(file.resumedFrom == 0)
        #expect(server.ranges == [nil, "bytes=30000-", nil])
    }

    @Test(
        "A success that is neither a part nor the whole fails and keeps the received bytes",
        arguments: [201, 202, 204, 205, 207, 226] as [HTTPStatus])
    func otherSuccess(status: HTTPStatus) async throws {
        let server = RangeServer()
        let directory = TemporaryFolder()
        server.update { $0.cut = 30_000 }
        let call = server.client().get("http://a.example/big.bin")
        let kept = DownloadOptions(resumes: 0, keepsPartialFile: true)
        await expectError(.incomplete) {
            try await call.download(to: directory.url, options: kept)
        }
        server.update { setup in
            setup.cut = nil
            setup.change = { headers, rest in
                headers[.contentRange] = nil
                rest = status == 204 || status == 205 ? Data() : Data("later".utf8)
                return status
            }
        }
        let error = await #expect(throws: ClientError.self) {
            try await call.download(to: directory.url, options: kept)
        }
        #expect(error?.code == .download && error?.response?.status == status)
        #expect(error?.resumeData?.receivedBytes == 30_000)
        server.update { $0.change = { _, _ in 206 } }
        let file = try await call.download(to: directory.url, options: kept)
        #expect(try Data(contentsOf: file.url) == server.setup.withLock { $0.content })
        #expect(file.resumedFrom == 30_000)
    }

    @Test(
        "A 416 that names another version starts over",
        arguments: [("\"v1\"", true), (nil, true), ("\"v2\"", false), ("W/\"v1\"", false)]
            as [(String?, Bool)])
    func refusal(tag: String?, isSame: Bool) async throws {
        let directory = TemporaryFolder()
        let (old, new) = (Data("the old one".utf8), Data("the new one".utf8))
        let transport = MockTransport { request in
            guard request.headers[.range] != nil else {
                return .status(200, headers: ["ETag": "\"v2\""], body: new)
            }
            var headers: HTTPHeaders = ["Content-Range": "bytes */\(old.count)"]
            headers[.eTag] = tag
            return .status(416, headers: headers)
        }
        // All of it has come, and the transfer broke off behind it.
        let first = MockTransport { _ in
            .stream(
                [old], headers: ["ETag": "\"v1\"", "Content-Length": "\(old.count)"],
                thenThrow: ClientError(.incomplete, "the connection was cut"))
        }
        let error = await #expect(throws: ClientError.self) {
            try await Client(transport: first, stack: [], serializers: SerializerTable())
                .get("http://a.example/a.bin")
                .download(
                    to: directory.url, options: DownloadOptions(resumes: 0, keepsPartialFile: true))
        }
        let data = try #require(error?.resumeData)
        let client = Client(transport: transport, stack: [], serializers: SerializerTable())
        let file = try await client.get("http://a.example/a.bin").download(
            to: directory.url, options: DownloadOptions(resumeData: data))
        #expect(try Data(contentsOf: file.url) == (isSame ? old : new))
        #expect(transport.sent.count == (isSame ? 1 : 2))
    }

    @Test(
        "A part with another date, a new tag or neither is refused",
        arguments: [
            (nil, "Mon, 01 Jan 2024 00:00:00 GMT", true), (nil, nil, false),
            (nil, "Tue, 02 Jan 2024 00:00:00 GMT", false),
            ("\"v2\"", "Mon, 01 Jan 2024 00:00:00 GMT", false),
        ] as [(String?, String?, Bool)])
    func dates(tag: String?, date: String?, isSame: Bool) async throws {
        let server = RangeServer()
        let directory = TemporaryFolder()
        server.update {
            $0.tag = nil
            $0.headers[.lastModified] = "Mon, 01 Jan 2024 00:00:00 GMT"
            $0.headers[.date] = "Wed, 03 Jan 2024 00:00:00 GMT"
            $0.cut = 30_000
        }
        let call = server.client().get("http://a.example/big.bin")
        let kept = DownloadOptions(resumes: 0, keepsPartialFile: true)
        await expectError(.incomplete) {
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
