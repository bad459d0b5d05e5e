// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeCurl
import TurnpikeMiddleware
import TurnpikeResumableUploads
import TurnpikeTesting
import TurnpikeURLSession

@Suite("Resumable uploads over a network")
struct UploadNetworkTests {
    typealias Dialect = ResumableUploadOptions.Dialect

    /// A file of random blocks with a length that no buffer has.
    static func write(mib: Int, seed: UInt64, to file: URL) throws -> Data {
        var generator = SeededRandomSource(seed: seed).generator(forCall: 1)
        let block = Data((0..<8192).map { _ in UInt8.random(in: 0...255, using: &generator) })
        var content = Data(capacity: mib << 20)
        while content.count + block.count + 8 < mib << 20 {
            unsafe withUnsafeBytes(of: content.count) { unsafe content.append(contentsOf: $0) }
            content.append(block)
        }
        try content.write(to: file)
        return content
    }

    @Test(
        "An upload that is cut at any byte is complete, and sends at most 4 MiB again",
        .timeLimit(.minutes(20)), arguments: Dialect.allCases)
    func cuts(dialect: Dialect) async throws {
        let mib = Runs.size(8, all: 64)
        let folder = TemporaryFolder()
        let file = URL(filePath: folder["file"])
        let content = try Self.write(mib: mib, seed: 7, to: file)
        let uploads = UploadServer(dialect)
        let server = try UploadSocketServer(uploads)
        let client = Client(
            baseURL: Target(server.url), transport: try CurlTransport(),
            stack: [.validate(), .retry()], serializers: SerializerTable(),
            timeSource: HastyTime())
        var generator = SeededRandomSource(seed: 11).generator(forCall: 1)
        for number in 0..<Runs.size(3, all: 100) {
            let cut = Int.random(in: 0...content.count, using: &generator)
            uploads.update { $0.cuts = [cut] }
            // Hashing 64 MiB takes a while in a debug build, so one upload in ten keeps a note.
            var options = ResumableUploadOptions(dialect: dialect)
            options.keepsNote = number % 10 == 0
            let last = Mutex<Int64>(0)
            let sent = Mutex<Int64>(0)
            try await client.post("videos", body: .file(file)).resumable(options: options) {
                progress in
                let step = last.withLock { last in
                    defer { last = progress.bytesSent }
                    return progress.bytesSent - last
                }
                if step > 0 { sent.withLock { $0 += step } }
            }
            #expect(uploads.contents == [content], "cut at byte \(cut)")
            let bytes = sent.withLock { $0 }
            #expect(bytes <= Int64(content.count + 4 << 20), "cut at byte \(cut)")
            #expect(uploads.arrivals.count { $0.method == .patch } == 2)
            uploads.forget()
        }
        #expect(folder.names == ["file"])
        await client.shutdown()
    }

    @Test(
        "An upload over URLSession is complete after cuts, also in parts",
        .timeLimit(.minutes(5)), arguments: Dialect.allCases, [nil, 1 << 20] as [Int64?])
    func urlSession(dialect: Dialect, partBytes: Int64?) async throws {
        let folder = TemporaryFolder()
        let file = URL(filePath: folder["file"])
        let content = try Self.write(mib: 4, seed: 5, to: file)
        let uploads = UploadServer(dialect)
        uploads.update { $0.cuts = [0, 300_000, 1] }
        let server = try UploadSocketServer(uploads)
        let client = Client(
            baseURL: Target(server.url), transport: URLSessionTransport(),
            stack: [.validate(), .retry()], serializers: SerializerTable(),
            timeSource: HastyTime())
        var options = ResumableUploadOptions(dialect: dialect)
        options.partBytes = partBytes
        try await client.post("videos", body: .file(file)).resumable(options: options)
        #expect(uploads.contents == [content])
        // Three parts were cut. URLSession itself may have repeated a part.
        let parts = uploads.arrivals.count { $0.method == .patch }
        #expect(parts >= (partBytes == nil ? 4 : 7))
        #expect(folder.names == ["file"])
        await client.shutdown()
    }

    @Test(
        "An upload whose process is killed again and again is right in the end",
        .timeLimit(.minutes(5)), arguments: Dialect.allCases)
    func kills(dialect: Dialect) async throws {
        let folder = TemporaryFolder()
        let file = URL(filePath: folder["file"])
        let content = try Self.write(mib: 4, seed: 3, to: file)
        let uploads = UploadServer(dialect)
        let server = try UploadSocketServer(uploads)
        let arguments = [
            "--upload", server.url.absoluteString + "videos", file.path(), dialect.rawValue,
        ]
        let kills = Runs.size(2, all: 8)
        for kill in 1...kills {
            let child = Mutex<ChildProcess?>(nil)
            let mark = kill * content.count / (kills + 1)
            uploads.update { $0.onTake = { if $0 >= mark { child.withLock { $0?.kill() } } } }
            // The child cannot send before the lock is released.
            let process = try child.withLock { child in
                child = try Program("turnpike-resume").start(arguments, within: .seconds(120))
                return child
            }
            #expect(await process?.end() == .killed(signal: SIGKILL))
            #expect(uploads.unfinishedBytes >= mark)
        }
        uploads.update { $0.onTake = { _ in } }
        _ = try await Program("turnpike-resume").output(arguments, within: .seconds(120))
        #expect(uploads.contents == [content] && folder.names == ["file"])
        // Each process has continued the upload of the first.
        #expect(uploads.arrivals.count { $0.method == .post } == 1)
        #expect(uploads.arrivals.count { $0.method == .head } == kills)
    }
}
