// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeDownloads

@Suite("Resumed download")
struct ResumeTests {
    private let directory = TemporaryFolder()
    private let server = RangeServer()
    private let kept = DownloadOptions(resumes: 0, keepsPartialFile: true)
    private var content: Data { server.setup.withLock { $0.content } }

    private func call(_ path: String = "big.bin") -> Call {
        server.client().get(Target("http://a.example/\(path)"))
    }

    private func broken(after count: Int = 30_000) async throws -> ResumeData {
        server.update { $0.cut = count }
        let error = await #expect(throws: ClientError.self) {
            try await call().download(to: directory.url, options: kept)
        }
        server.update { $0.cut = nil }
        #expect(error?.code == .incomplete)
        return try #require(error?.resumeData)
    }

    @Test("The error of a broken transfer has the resume data")
    func fromError() async throws {
        let data = try await broken()
        #expect(data.receivedBytes == 30_000 && data.totalBytes == 100_000)
        #expect(data.validator == "\"v1\"" && data.suggestedName == "big.bin")
        let copy = try JSONDecoder().decode(ResumeData.self, from: JSONEncoder().encode(data))
        // Another process, another URL, another directory.
        let other = TemporaryFolder()
        let file = try await call("mirror").download(
            to: other.url, options: DownloadOptions(resumeData: copy))
        #expect(try Data(contentsOf: file.url) == content)
        #expect(file.resumedFrom == 30_000 && file.url.lastPathComponent == "big.bin")
        #expect(server.ranges == [nil, "bytes=30000-"])
    }

    @Test(
        "A date identifies the content without a tag, if it is well before the response's date",
        arguments: [(nil, 86_400, true), (nil, 30, false), (1, 30, true), (0, 30, false)]
            as [(Int?, Int, Bool)])
    func byDate(sentAfter: Int?, age: Int, isStrong: Bool) async throws {
        let changed = HastyTime().date - Double(age)
        server.update { setup in
            setup.tag = nil
            setup.headers[.lastModified] = HTTPDate.format(changed)
            setup.headers[.date] = sentAfter.map { HTTPDate.format(changed + Double($0)) }
            setup.cut = 30_000
        }
        let error = await #expect(throws: ClientError.self) {
            try await call().download(to: directory.url, options: kept)
        }
        #expect((error?.resumeData != nil) == isStrong)
    }

    @Test(
        "A changed name in stored resume data leads to no other file", arguments: ["..", "../up"])
    func changedName(name: String) async throws {
        let data = try await broken()
        let text = String(decoding: try JSONEncoder().encode(data), as: UTF8.self)
        let changed = text.replacing("\"big.bin\"", with: "\"\(name)\"")
        let copy = try JSONDecoder().decode(ResumeData.self, from: Data(changed.utf8))
        let other = TemporaryFolder()
        let file = try await call().download(
            to: other.url, options: DownloadOptions(resumeData: copy))
        #expect(file.url.deletingLastPathComponent().path() == other.url.path())
        #expect(other.names == [name == ".." ? "download" : "up"])
    }

    @Test("Resume data beside the destination is found only for the same URL")
    func found() async throws {
        _ = try await broken()
        #expect(directory.names.count == 2)
        for name in directory.names {
            let path = directory.url.appending(path: name).path()
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
        let other = try await call("other.bin").download(to: directory.url, options: kept)
        #expect(other.resumedFrom == 0)
        let file = try await call().download(to: directory.url, options: kept)
        #expect(try Data(contentsOf: file.url) == content)
        #expect(file.resumedFrom == 30_000 && server.ranges == [nil, nil, "bytes=30000-"])
        #expect(directory.names == ["big.bin", "other.bin"])
    }

    @Test("A download may resume for the last byte alone")
    func lastByte() async throws {
        _ = try await broken(after: 99_999)
        let file = try await call().download(to: directory.url, options: kept)
        #expect(try Data(contentsOf: file.url) == content)
        #expect(file.resumedFrom == 99_999 && server.ranges == [nil, "bytes=99999-"])
    }

    @Test("A complete partial file only has to be renamed")
    func complete() async throws {
        let data = try await broken()
        try content.write(to: data.partialFile)
        let file = try await call().download(to: directory.url, options: kept)
        #expect(try Data(contentsOf: file.url) == content)
        #expect(server.ranges.last == "bytes=100000-" && server.transport.sentCount == 2)
    }

    /// An answer to a range that does not fit.
    struct Hostile: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var isFatal = false
        let change: @Sendable (inout HTTPHeaders, inout Data) -> HTTPStatus
    }

    @Test(
        "Contradicting ranges start over and never give a wrong file",
        arguments: [
            Hostile(testDescription: "another start") { headers, _ in
                headers[.contentRange] = "bytes 30007-99999/100000"
                return 206
            },
            Hostile(testDescription: "another total") { headers, _ in
                headers[.contentRange] = "bytes 30000-99999/100999"
                return 206
            },
            Hostile(testDescription: "no range") { headers, _ in
                headers.remove(.contentRange)
                return 206
            },
            Hostile(testDescription: "a range that is none") { headers, _ in
                headers[.contentRange] = "bytes 30000-9999999999999999999999/x"
                return 206
            },
            Hostile(testDescription: "more than the range") { headers, rest in
                rest += Data("more".utf8)
                headers[.contentLength] = nil
                return 206
            },
            Hostile(testDescription: "another version") { headers, _ in
                headers[.eTag] = "\"v2\""
                return 206
            },
            Hostile(testDescription: "a date in place of the tag") { headers, _ in
                headers[.eTag] = nil
                headers[.lastModified] = "Mon, 01 Jan 2024 00:00:00 GMT"
                return 206
            },
            Hostile(testDescription: "a part that names nothing") { headers, _ in
                headers[.eTag] = nil
                return 206
            },
            Hostile(testDescription: "several parts") { headers, _ in
                headers[.contentType] = "Multipart/Byteranges; boundary=x"
                return 206
            },
            Hostile(testDescription: "a coding") { headers, _ in
                headers[.contentEncoding] = "gzip"
                return 206
            },
            Hostile(testDescription: "refused") { headers, rest in
                headers[.contentRange] = "bytes */100000"
                rest = Data()
                return 416
            },
        ])
    func hostile(answer: Hostile) async throws {
        _ = try await broken()
        server.update { $0.change = answer.change }
        let file = try await call().download(to: directory.url, options: kept)
        #expect(try Data(contentsOf: file.url) == content)
        #expect(file.resumedFrom == 0)
        #expect(server.ranges == [nil, "bytes=30000-", nil])
        #expect(directory.names == ["big.bin"])
    }

    @Test("A part that was not requested is refused")
    func unasked() async throws {
        let transport = MockTransport { _ in
            .status(206, headers: ["Content-Range": "bytes 0-0/9"], body: Data("x".utf8))
        }
        let client = Client(transport: transport, stack: [], serializers: SerializerTable())
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).download(to: directory.url)
        }
        #expect(error?.code == .download && directory.names.isEmpty)
    }

    @Test("Resume data that leads elsewhere is not followed")
    func elsewhere() async throws {
        let data = try await broken()
        let victim = directory.url.appending(path: "victim")
        try Data("precious".utf8).write(to: victim)
        try FileManager.default.removeItem(at: data.partialFile)
        try FileManager.default.createSymbolicLink(at: data.partialFile, withDestinationURL: victim)
        let file = try await call().download(to: directory.url, options: kept)
        #expect(try Data(contentsOf: file.url) == content && file.resumedFrom == 0)
        #expect(try Data(contentsOf: victim) == Data("precious".utf8))
    }

    @Test("A plain cancel leaves nothing to resume")
    func cancelled() async throws {
        let (running, gate) = try await halfway()
        running.cancel()
        gate.finish()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(running.state == .cancelled && running.pause() == false)
        try await until("an empty folder") { directory.names.isEmpty }
    }

    @Test("A stop gives the resume data")
    func stopped() async throws {
        let (running, gate) = try await halfway()
        let data = try #require(await running.stop())
        gate.finish()
        #expect(data.receivedBytes == 50_000 && running.state == .cancelled)
        await #expect(throws: CancellationError.self) { try await running.value }
        let file = try await call().download(
            to: directory.url, options: DownloadOptions(resumeData: data))
        #expect(try Data(contentsOf: file.url) == content && file.resumedFrom == 50_000)
    }

    @Test("A stop leaves no file that cannot be resumed")
    func stoppedForGood() async throws {
        let (running, gate) = try await halfway(tag: nil)
        #expect(await running.stop() == nil)
        gate.finish()
        #expect(directory.names.isEmpty)
    }

    @Test("A pause keeps the received bytes, and resuming requests the rest")
    func paused() async throws {
        let (running, gate) = try await halfway()
        #expect(running.pause() && running.state == .paused)
        #expect(!running.pause())
        gate.finish()
        #expect(running.resume() && !running.resume())
        let file = try await running.value
        #expect(try Data(contentsOf: file.url) == content)
        #expect(file.bytes == 100_000 && running.state == .finished)
        #expect(!running.pause() && directory.names == ["big.bin"])
    }

    @Test("After a pause, a failure leaves no file")
    func failedAfterPause() async throws {
        let (running, gate) = try await halfway()
        #expect(running.pause())
        gate.finish()
        server.update { setup in
            setup.change = { _, rest in
                rest = Data()
                return 500
            }
        }
        #expect(running.resume())
        let error = await #expect(throws: ClientError.self) { try await running.value }
        #expect(error?.response?.status == 500 && error?.resumeData == nil)
        #expect(running.state == .failed && directory.names.isEmpty)
    }

    @Test("A late reader of progress gets the latest state")
    func lateReader() async throws {
        let (running, gate) = try await halfway()
        for await progress in running.progress {
            #expect(progress.bytesReceived == 50_000)
            break
        }
        gate.finish()
        running.cancel()
    }

    @Test(
        "States follow one another by a single table",
        arguments: [
            (
                "a paused one resumes", RunningDownload.State.paused, RunningDownload.State.running,
                true
            ),
            ("a running one is cancelled", .running, .cancelled, true),
            ("a paused one is cancelled", .paused, .cancelled, true),
            ("a running one cannot resume", .running, .running, false),
            ("a cancelled one cannot finish", .cancelled, .finished, false),
            ("finished", .finished, .running, false),
            ("failed", .failed, .running, false),
        ])
    func states(id: String, from: RunningDownload.State, to: RunningDownload.State, isLegal: Bool) {
        #expect(from.canBecome(to) == isLegal)
    }

    /// A download of which half has come, and what holds the rest back.
    private func halfway(
        tag: String? = "\"v1\""
    ) async throws -> (RunningDownload, AsyncStream<Data>.Continuation) {
        let content = content
        let (stream, gate) = AsyncStream.makeStream(of: Data.self)
        gate.yield(content.prefix(50_000))
        let first = Mutex<AsyncStream<Data>?>(stream)
        let client = Client(
            transport: HalfwayTransport(first: first, tag: tag, server: server), stack: [],
            serializers: SerializerTable(), timeSource: HastyTime())
        let running = client.get("http://a.example/big.bin").startDownload(
            to: .directory(directory.url))
        for await progress in running.progress where progress.bytesReceived == 50_000 { break }
        return (running, gate)
    }
}

/// Answers the first request with a stream that someone holds, later ones by ranges.
private final class HalfwayTransport: Transport {
    let capabilities: TransportCapabilities = []
    let first: Mutex<AsyncStream<Data>?>
    let tag: String?
    let server: RangeServer

    init(first: consuming Mutex<AsyncStream<Data>?>, tag: String?, server: RangeServer) {
        self.first = first
        self.tag = tag
        self.server = server
    }

    func send(_ request: Request, context: Context) async throws -> Response {
        let stream = first.withLock { first in
            defer { first = nil }
            return first
        }
        guard let stream else { return try await server.transport.send(request, context: context) }
        var headers: HTTPHeaders = ["Content-Length": "100000"]
        headers[.eTag] = tag
        return Response(to: request, status: 200, headers: headers, body: ResponseBody(stream))
    }

    func shutdown() async {}
}
