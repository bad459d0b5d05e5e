// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeResumableUploads
import TurnpikeSerializers
import TurnpikeTesting

/// A file, a client and a server of one test.
final class UploadBench: Sendable {
    typealias Dialect = ResumableUploadOptions.Dialect

    let folder = TemporaryFolder()
    let server: UploadServer
    let clock = HastyTime()
    let content: Data
    private let dialect: Dialect
    private let progress = Mutex<[Int64]>([])

    init(_ dialect: Dialect = .draft, bytes: Int = 300_000) throws {
        self.dialect = dialect
        server = UploadServer(dialect)
        content = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
        try content.write(to: file)
    }

    var file: URL { URL(filePath: folder["video"]) }
    var notes: [String] { folder.names.filter { $0.hasSuffix(".upload") } }
    /// The bytes sent, as the caller was told.
    var reported: [Int64] { progress.withLock { $0 } }

    func call(_ stack: Stack = [], _ body: RequestBody? = nil) -> Call {
        let client = Client(
            baseURL: "http://a.example/", transport: server, stack: stack,
            serializers: .standard, timeSource: clock)
        return client.post("videos", body: body ?? .file(file))
    }

    @discardableResult
    func upload(
        _ call: Call? = nil, _ change: (inout ResumableUploadOptions) -> Void = { _ in }
    ) async throws -> FinishedUpload {
        var options = ResumableUploadOptions(dialect: dialect)
        change(&options)
        return try await (call ?? self.call()).resumable(options: options) { [self] progress in
            self.progress.withLock { $0.append(progress.bytesSent) }
        }
    }

    /// Expects an upload to fail.
    @discardableResult
    func fails(
        _ code: ClientError.Code, _ call: Call? = nil,
        _ change: (inout ResumableUploadOptions) -> Void = { _ in },
        at location: SourceLocation = #_sourceLocation
    ) async -> ClientError? {
        let error = await #expect(throws: ClientError.self, sourceLocation: location) {
            try await upload(call, change)
        }
        #expect(error?.code == code, sourceLocation: location)
        return error
    }

    /// Lets an upload break off for good.
    func breakOff(after bytes: Int) async throws {
        server.update { $0.cuts = [bytes] }
        await fails(.connection) { $0.resumes = 0 }
    }
}

@Suite("Resumable upload")
struct ResumableUploadTests {
    typealias Dialect = ResumableUploadOptions.Dialect

    @Test(
        "Creates an upload without content, and sends the content to its URL",
        arguments: Dialect.allCases)
    func whole(dialect: Dialect) async throws {
        let bench = try UploadBench(dialect)
        let call = bench.call().header("X-Tenant", "blue").header("Content-Disposition", "inline")
        let upload = try await bench.upload(call)
        #expect(bench.server.contents == [bench.content])
        #expect(upload.bytes == 300_000 && upload.resumedFrom == 0)
        #expect(upload.url.absoluteString == "http://a.example/uploads/1")
        #expect(bench.server.summaries == ["POST /videos -", "PATCH /uploads/1 0"])
        let creation = bench.server.arrivals[0].headers
        #expect(creation["Upload-Length"] == "300000" && creation[.contentDisposition] == "inline")
        #expect(creation[.contentType] == "application/octet-stream")
        let part = bench.server.arrivals[1].headers
        #expect(part["X-Tenant"] == "blue" && part[.contentDisposition] == nil)
        if dialect == .draft {
            let body = try await upload.response.body.collect(upTo: 100)
            #expect(body == Data("stored 300000".utf8))
        }
        #expect(bench.reported.first == 0 && bench.reported.last == 300_000)
        #expect(bench.reported == bench.reported.sorted() && bench.notes == [])
    }

    @Test("An empty file is uploaded", arguments: Dialect.allCases)
    func empty(dialect: Dialect) async throws {
        let bench = try UploadBench(dialect, bytes: 0)
        try await bench.upload()
        let patches = bench.server.arrivals.count { $0.method == .patch }
        #expect(patches == (dialect == .tus ? 0 : 1))
        if dialect == .draft { #expect(bench.server.contents == [Data()]) }
    }

    @Test(
        "Continues behind each cut with the bytes that the server lacks",
        arguments: Dialect.allCases)
    func cuts(dialect: Dialect) async throws {
        let bench = try UploadBench(dialect)
        bench.server.update { $0.cuts = [0, 70_000, 65_536] }
        try await bench.upload()
        #expect(bench.server.contents == [bench.content])
        #expect(
            bench.server.summaries == [
                "POST /videos -", "PATCH /uploads/1 0", "HEAD /uploads/1 -", "PATCH /uploads/1 0",
                "HEAD /uploads/1 -", "PATCH /uploads/1 70000", "HEAD /uploads/1 -",
                "PATCH /uploads/1 135536",
            ])
        // Progress begins the row of waits again.
        #expect(bench.clock.waited == [.milliseconds(500), .seconds(1), .milliseconds(500)])
        #expect(bench.reported.last == 300_000)
    }

    @Test("Data and a form of files continue too, without a note")
    func data() async throws {
        let bench = try UploadBench()
        bench.server.update { $0.cuts = [200_001] }
        let parts = RequestBody.concatenating([
            .data(Data("head".utf8)), .file(bench.file, range: 100..<250_000),
            .data(Data("foot".utf8)),
        ])
        try await bench.upload(bench.call([], parts))
        let expected = Data("head".utf8) + bench.content[100..<250_000] + Data("foot".utf8)
        #expect(bench.server.contents == [expected])
        #expect(bench.server.summaries.last == "PATCH /uploads/1 200001")
        #expect(bench.folder.names == ["video"])
    }

    @Test("A stream is refused before anything is sent")
    func stream() async throws {
        let bench = try UploadBench()
        let body = RequestBody.stream(length: 1, replayable: true) {
            AsyncStream<Data> { $0.finish() }
        }
        await bench.fails(.unsupported, bench.call([], body))
        #expect(bench.server.arrivals.isEmpty)
    }

    @Test(
        "If the response to the content is lost, the server is asked for it again",
        arguments: [nil, 409, 204, 503])
    func lostEnd(refusal: Int?) async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.answersEnd = false
            guard let refusal else { return }
            setup.override = { arrival, resources in
                let isOver = arrival.method == .patch && resources[1]?.isComplete == true
                let fields: HTTPHeaders = refusal == 409 ? ["Upload-Complete": "?0"] : [:]
                return isOver ? .init(status: HTTPStatus(refusal), headers: fields) : nil
            }
        }
        let upload = try await bench.upload()
        #expect(
            bench.server.summaries.suffix(2) == ["HEAD /uploads/1 -", "PATCH /uploads/1 300000"])
        #expect(upload.response.status == (refusal == nil ? 200 : 204))
        #expect(bench.server.contents == [bench.content] && bench.notes == [])
    }

    @Test(
        "An error of the resource that gets the content ends the upload", arguments: [false, true])
    func refusedContent(validates: Bool) async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.override = { arrival, _ in
                arrival.method == .patch
                    ? .init(status: 422, headers: ["Upload-Complete": "?1"]) : nil
            }
        }
        if validates {
            let error = await #expect(throws: ClientError.self) {
                try await bench.upload(bench.call([.validate()]))
            }
            #expect(error?.response?.status == 422)
        } else {
            #expect(try await bench.upload().response.status == 422)
        }
        #expect(bench.server.arrivals.count == 2 && bench.notes == [])
    }

    @Test("Fails after some continuations without progress", arguments: [0, 3])
    func noProgress(resumes: Int) async throws {
        let bench = try UploadBench()
        bench.server.update { $0.cuts = [10] + Array(repeating: 0, count: 50) }
        await bench.fails(.connection) { $0.resumes = resumes }
        let patches = bench.server.arrivals.count { $0.method == .patch }
        #expect(patches == (resumes == 0 ? 1 : 2 + resumes) && bench.notes.count == 1)
    }

    @Test("A server that accepts parts and keeps no byte is given up")
    func standstill() async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.override = { arrival, _ in
                arrival.method == .patch ? .init(status: 204, headers: ["Upload-Offset": "0"]) : nil
            }
        }
        await bench.fails(.incomplete)
        #expect(bench.server.arrivals.count { $0.method == .patch } == 6)
    }

    @Test("A busy server is asked again after the time that it names", arguments: [423, 503, 409])
    func busy(status: Int) async throws {
        let bench = try UploadBench()
        let turn = Mutex(0)
        bench.server.update { setup in
            setup.override = { arrival, _ in
                let isFirst =
                    arrival.method == .patch
                    && turn.withLock {
                        $0 += 1; return $0 == 1
                    }
                return isFirst
                    ? .init(status: HTTPStatus(status), headers: ["Retry-After": "7"]) : nil
            }
        }
        try await bench.upload(bench.call([.validate()]))
        #expect(bench.server.contents == [bench.content])
        #expect(bench.clock.waited == [.seconds(7)])
    }

    @Test("The retry of the client repeats the question for the offset, but no part")
    func retry() async throws {
        let bench = try UploadBench()
        let turn = Mutex(0)
        bench.server.update { setup in
            setup.cuts = [1000]
            setup.override = { arrival, _ in
                let isFirst =
                    arrival.method == .head
                    && turn.withLock {
                        $0 += 1; return $0 == 1
                    }
                return isFirst ? .init(status: 503) : nil
            }
        }
        try await bench.upload(bench.call([.retry(attempts: 3), .idempotencyKey()]))
        #expect(
            bench.server.summaries == [
                "POST /videos -", "PATCH /uploads/1 0", "HEAD /uploads/1 -", "HEAD /uploads/1 -",
                "PATCH /uploads/1 1000",
            ])
    }

    @Test("A part keeps its bytes in a client that compresses content")
    func compression() async throws {
        let bench = try UploadBench()
        try await bench.upload(bench.call([.compressBodies()]))
        #expect(bench.server.contents == [bench.content])
    }
}

@Suite("Limits of a server for resumable uploads")
struct UploadLimitTests {
    @Test(
        "Parts are as large as the server allows and the caller wants",
        arguments: [
            ("max-append-size=100000", nil, [0, 100_000, 200_000]),
            ("max-append-size=100000", 150_000, [0, 100_000, 200_000]),
            ("max-append-size=250000, min-append-size=200000", 1000, [0, 200_000]),
            (
                "min-size=0;p=1, other=\"max-append-size=5,\", max-size=300000", 290_000,
                [0, 290_000]
            ),
            // A known member of another type: the field does not count.
            ("max-append-size=100000, max-size=?1", nil, [0]),
        ] as [(String, Int64?, [Int])])
    func parts(limit: String, wanted: Int64?, offsets: [Int]) async throws {
        let bench = try UploadBench()
        bench.server.update { $0.fields = ["Upload-Limit": limit] }
        try await bench.upload { $0.partBytes = wanted }
        #expect(bench.server.contents == [bench.content])
        #expect(
            bench.server.summaries.dropFirst() == offsets.map { "PATCH /uploads/1 \($0)" }[...])
    }

    @Test(
        "Limits that exclude the content end the upload before content is sent",
        arguments: [
            ("max-size=299999", ClientError.Code.tooLarge),
            ("max-append-size=10, min-append-size=11", .unsupported),
            ("max-append-size=0", .unsupported),
        ])
    func excluding(limit: String, code: ClientError.Code) async throws {
        let bench = try UploadBench()
        bench.server.update { $0.fields = ["Upload-Limit": limit] }
        let error = await #expect(throws: ClientError.self) { try await bench.upload() }
        #expect(error?.code == code)
        #expect(bench.server.summaries == ["POST /videos -", "DELETE /uploads/1 -"])
        #expect(bench.notes == [])
    }

    @Test(
        "A refused creation names the limit",
        arguments: [
            (413, "Upload-Limit", "max-size=5", ClientError.Code.tooLarge),
            (413, "Tus-Max-Size", "5", .tooLarge),
            (400, "Upload-Limit", "min-size=400000", .unsupported),
            (403, "Upload-Limit", "min-size=0", .validation),
        ])
    func refused(
        status: Int, field: String, value: String, code: ClientError.Code
    ) async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.override = { _, _ in
                .init(status: HTTPStatus(status), headers: [.init(field): value])
            }
        }
        let error = await #expect(throws: ClientError.self) { try await bench.upload() }
        #expect(error?.code == code && error?.response?.status == HTTPStatus(status))
        #expect(bench.server.arrivals.count == 1 && bench.notes == [])
    }

    @Test("A part that is too large for a proxy is halved")
    func halves() async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.override = { arrival, resources in
                let left = 300_000 - (resources[1]?.content.count ?? 0)
                return arrival.method == .patch && left > 150_000
                    && arrival.headers["Upload-Complete"] == "?1"
                    ? .init(status: 413) : nil
            }
        }
        try await bench.upload()
        #expect(bench.server.contents == [bench.content])
        #expect(
            bench.server.summaries.dropFirst(2) == [
                "HEAD /uploads/1 -", "PATCH /uploads/1 0", "PATCH /uploads/1 150000",
            ])
    }

    @Test("Parts are halved down to 64 KiB, however few resumes are allowed")
    func halvesFurther() async throws {
        let bench = try UploadBench(bytes: 5_000_000)
        let refusals = Mutex(0)
        bench.server.update { setup in
            setup.override = { arrival, _ in
                guard arrival.method == .patch else { return nil }
                return refusals.withLock { refusals in
                    refusals += 1
                    return refusals <= 7 ? .init(status: 413) : nil
                }
            }
        }
        try await bench.upload { $0.resumes = 0 }
        #expect(bench.server.contents == [bench.content])
        #expect(bench.server.arrivals.map(\.bytes).max() == 5_000_000 / 128)
    }

    @Test("A server without resumable uploads is named as such", arguments: [200, 201])
    func unaware(status: Int) async throws {
        let bench = try UploadBench()
        bench.server.update { $0.override = { _, _ in .init(status: HTTPStatus(status)) } }
        await bench.fails(.unsupported)
        #expect(bench.server.arrivals.count == 1 && bench.notes == [])
    }
}
