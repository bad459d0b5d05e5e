// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeResumableUploads
import TurnpikeSupport
import TurnpikeTesting

@Suite("Continued upload")
struct UploadContinuationTests {
    typealias Dialect = ResumableUploadOptions.Dialect

    @Test("A later call continues where the server is", arguments: Dialect.allCases)
    func later(dialect: Dialect) async throws {
        let bench = try UploadBench(dialect)
        try await bench.breakOff(after: 123_456)
        let note = try #require(bench.notes.first)
        #expect(try bench.folder.mode(note) == 0o600)
        let upload = try await bench.upload()
        #expect(upload.resumedFrom == 123_456 && bench.server.contents == [bench.content])
        #expect(
            bench.server.summaries.suffix(2) == ["HEAD /uploads/1 -", "PATCH /uploads/1 123456"])
        #expect(bench.notes == [])
    }

    @Test("A cancelled upload keeps its note, and sends no more")
    func cancelled() async throws {
        let bench = try UploadBench()
        let task = Mutex<Task<FinishedUpload, any Error>?>(nil)
        bench.server.update { $0.onTake = { _ in task.withLock { $0?.cancel() } } }
        // The upload cannot be cancelled before the lock is released.
        let upload = task.withLock { task in
            let upload = Task { try await bench.upload() }
            task = upload
            return upload
        }
        await #expect(throws: CancellationError.self) { try await upload.value }
        #expect(bench.server.summaries == ["POST /videos -", "PATCH /uploads/1 0"])
        #expect(try await bench.upload().resumedFrom == bench.server.arrivals[1].bytes)
        #expect(bench.server.contents == [bench.content])
    }

    @Test("The note stands where the caller wants it, or nowhere")
    func place() async throws {
        let bench = try UploadBench()
        let other = TemporaryFolder()
        bench.server.update { $0.cuts = [1000, 1000] }
        for keepsNote in [true, false] {
            await bench.fails(.connection) { options in
                options.resumes = 0
                options.notesFolder = other.url
                options.keepsNote = keepsNote
            }
            #expect(bench.notes == [] && other.names.count == 1)
        }
        await bench.fails(.upload) { $0.notesFolder = other.url.appending(path: "missing") }
    }

    enum Change: CaseIterable { case sentPart, date, length, range, target, dialect }

    @Test("Two files are never joined", arguments: Change.allCases)
    func changed(change: Change) async throws {
        let bench = try UploadBench()
        try await bench.breakOff(after: 200_000)
        var content = bench.content
        let status = try #require(try Folder.named(bench.folder.path, .own).status(of: "video"))
        var call = bench.call()
        switch change {
        case .sentPart:
            content[10] ^= 1
            try content.write(to: bench.file)
            // The same length and the same time.
            var times = [status.st_atim, status.st_mtim]
            #expect(unsafe utimensat(AT_FDCWD, bench.folder["video"], &times, 0) == 0)
        case .date:
            var times = [timespec(), timespec(tv_sec: status.st_mtim.tv_sec, tv_nsec: 1)]
            #expect(unsafe utimensat(AT_FDCWD, bench.folder["video"], &times, 0) == 0)
        case .length:
            content.append(1)
            try content.write(to: bench.file)
        case .range:
            content = content[0..<299_999]
            call = bench.call([], .file(bench.file, range: 0..<299_999))
        case .target: call = call.client(at: "other")
        case .dialect: break
        }
        if change == .dialect {
            await #expect(throws: ClientError.self) { try await bench.upload { $0.dialect = .tus } }
            #expect(bench.server.summaries.last == "POST /videos -")
            return
        }
        let upload = try await bench.upload(call)
        #expect(upload.resumedFrom == 0 && bench.server.contents == [content])
        #expect(!bench.server.summaries.contains { $0.hasPrefix("HEAD") })
    }

    @Test("A file that is changed between two parts fails the upload")
    func changedMeanwhile() async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.cuts = [1000]
            let file = bench.file
            setup.override = { arrival, _ in
                if arrival.method == .head { try? Data(count: 300_000).write(to: file) }
                return nil
            }
        }
        await bench.fails(.upload)
        #expect(bench.server.contents == [] && bench.server.unfinishedBytes == 1000)
    }

    @Test("A link to another file fails the upload")
    func changedLink() async throws {
        let bench = try UploadBench()
        let (link, other) = (bench.folder["link"], bench.folder["other"])
        try Data(count: 300_000).write(to: URL(filePath: other))
        let files = FileManager.default
        try files.createSymbolicLink(atPath: link, withDestinationPath: bench.file.path())
        bench.server.update { setup in
            setup.cuts = [1000]
            setup.override = { arrival, _ in
                if arrival.method == .head {
                    try? FileManager.default.removeItem(atPath: link)
                    try? FileManager.default.createSymbolicLink(
                        atPath: link, withDestinationPath: other)
                }
                return nil
            }
        }
        await bench.fails(.upload, bench.call([], .file(URL(filePath: link))))
        #expect(bench.server.contents == [] && bench.server.unfinishedBytes == 1000)
    }

    @Test("A file that is changed while its last part is sent fails the upload")
    func changedAtEnd() async throws {
        let bench = try UploadBench()
        let file = bench.file
        bench.server.update { setup in
            setup.onTake = { _ in try? Data(count: 300_000).write(to: file) }
        }
        await bench.fails(.upload)
    }

    @Test("A resource that is gone after all bytes were sent is not sent again")
    func goneAtEnd() async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.answersEnd = false
            setup.override = { arrival, _ in
                arrival.method == .head ? .init(status: 404) : nil
            }
        }
        await bench.fails(.uploadLost)
        #expect(bench.server.arrivals.map(\.method) == [.post, .patch, .head])
        #expect(bench.notes == [])
    }

    @Test("An upload whose resource is gone starts anew once", arguments: [404, 410])
    func gone(status: Int) async throws {
        let bench = try UploadBench()
        try await bench.breakOff(after: 200_000)
        bench.server.update { setup in
            setup.override = { arrival, _ in
                arrival.url.path() == "/uploads/1" ? .init(status: HTTPStatus(status)) : nil
            }
        }
        let upload = try await bench.upload(bench.call([.validate()]))
        #expect(upload.resumedFrom == 0 && bench.server.contents == [bench.content])
        bench.server.update { setup in
            setup.override = { arrival, _ in
                arrival.method == .patch ? .init(status: HTTPStatus(status)) : nil
            }
        }
        let error = await #expect(throws: ClientError.self) { try await bench.upload() }
        #expect(error?.response?.status == HTTPStatus(status))
        #expect(bench.server.arrivals.suffix(4).map(\.method) == [.post, .patch, .post, .patch])
    }

    @Test(
        "An upload that has expired is not asked for",
        arguments: [
            ("Upload-Limit", "max-age=60"), ("Upload-Expires", "Tue, 14 Nov 2023 22:14:00 GMT"),
        ])
    func expired(field: String, value: String) async throws {
        for isLate in [false, true] {
            let bench = try UploadBench()
            bench.server.update { $0.fields = [.init(field): value] }
            try await bench.breakOff(after: 1000)
            if isLate { bench.clock.pass(.seconds(61)) }
            #expect(try await bench.upload().resumedFrom == (isLate ? 0 : 1000))
        }
    }

    @Test("Bytes that the server has lost are sent again")
    func behind() async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.cuts = [200_000]
            setup.override = { arrival, resources in
                if arrival.method == .head { resources[1]?.content.removeLast(150_000) }
                return nil
            }
        }
        try await bench.upload()
        #expect(bench.server.contents == [bench.content])
        #expect(bench.server.summaries.last == "PATCH /uploads/1 50000")
    }

    @Test(
        "An offset beyond the file is an error, and one beyond what was sent starts anew",
        arguments: [(300_001, false), (250_000, true)])
    func beyond(offset: Int, startsAnew: Bool) async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.cuts = [100_000]
            setup.override = { arrival, _ in
                arrival.method == .head
                    ? .init(status: 204, headers: ["Upload-Offset": "\(offset)"]) : nil
            }
        }
        if startsAnew {
            try await bench.upload()
            #expect(bench.server.contents == [bench.content])
            #expect(bench.server.summaries.last == "PATCH /uploads/2 0")
        } else {
            await bench.fails(.protocol)
            #expect(bench.notes == [])
        }
    }

    @Test("Two calls at once do not upload the same file to the same URL")
    func twice() async throws {
        let bench = try UploadBench()
        let second = Mutex<(any Error)?>(nil)
        let call = bench.call([
            Around { request, _, next in
                if request.method == .patch {
                    do { try await bench.upload() } catch { second.withLock { $0 = error } }
                }
                return try await next(request)
            }
        ])
        try await bench.upload(call)
        #expect((second.withLock { $0 } as? ClientError)?.code == .upload)
        #expect(bench.server.contents == [bench.content] && bench.server.arrivals.count == 2)
    }
}

extension Call {
    /// The same call for another target of the same origin.
    fileprivate func client(at path: String) -> Call {
        var call = self
        call.request.url = call.request.url.deletingLastPathComponent().appending(path: path)
        return call
    }
}

@Suite("Where resumable uploads may go")
struct UploadOriginTests {
    private let secrets: Stack = [
        .redirect(), .setHeaders(["X-API-Key": "secret"]), .basic(user: "ada", password: "secret"),
    ]

    @Test(
        "Only the origin of the request gets its credentials",
        arguments: [
            ("/uploads/", true), ("http://a.example:80/uploads/", true),
            ("http://a.example:81/uploads/", false), ("//b.example/uploads/", false),
            ("https://b.example/uploads/", false), ("https://a.example/uploads/", true),
        ])
    func credentials(prefix: String, areSent: Bool) async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.prefix = prefix
            setup.cuts = [1000]
            // A redirect within the other origin brings no credentials back.
            setup.override = { arrival, _ in
                arrival.method == .head && !arrival.url.path().hasPrefix("/again")
                    ? .init(status: 307, headers: ["Location": "/again" + arrival.url.path()]) : nil
            }
        }
        let call = bench.call(secrets).header("Cookie", "a=b").header("Accept-Language", "en")
        try await bench.upload(call)
        #expect(bench.server.contents == [bench.content])
        #expect(bench.server.arrivals[0].headers["X-API-Key"] == "secret")
        let others = bench.server.arrivals.dropFirst()
        #expect(others.map(\.method) == [.patch, .head, .head, .patch])
        for arrival in others {
            #expect((arrival.headers["X-API-Key"] != nil) == areSent)
            #expect((arrival.headers[.cookie] != nil) == areSent)
            #expect(arrival.headers["Accept-Language"] == "en")
            // Basic credentials belong to exactly one origin.
            if !areSent { #expect(arrival.headers[.authorization] == nil) }
        }
    }

    @Test("A later call sends no credentials to another origin either")
    func later() async throws {
        let bench = try UploadBench()
        bench.server.update { $0.prefix = "http://b.example/uploads/" }
        try await bench.breakOff(after: 1000)
        let upload = try await bench.upload(bench.call(secrets))
        #expect(upload.resumedFrom == 1000)
        #expect(bench.server.arrivals.allSatisfy { $0.headers[.authorization] == nil })
    }

    @Test("Another origin chooses no resource of the own origin")
    func chosenByOther() async throws {
        let bench = try UploadBench()
        bench.server.update { setup in
            setup.override = { arrival, _ in
                if arrival.url.host() == "a.example" && arrival.method == .post {
                    return .init(status: 307, headers: ["Location": "http://b.example/videos"])
                }
                if arrival.method == .post {
                    return .init(
                        status: 201,
                        headers: [
                            "Location": "http://a.example/users/me", "Upload-Limit": "max-size=0",
                        ])
                }
                return .init(status: 204)
            }
        }
        await bench.fails(.redirect, bench.call(secrets))
        #expect(bench.server.arrivals.map(\.method) == [.post, .post])
    }

    @Test("An upload does not leave TLS")
    func downgrade() async throws {
        let bench = try UploadBench()
        bench.server.update { $0.prefix = "http://a.example/uploads/" }
        var call = bench.call()
        call.request.url = try #require(URL(string: "https://a.example/videos"))
        await bench.fails(.redirect, call)
        #expect(bench.server.arrivals.count == 1)
    }
}
