// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TurnpikeCore
@testable import TurnpikeSupport

@Suite("The SHA-256 of a request body")
struct RequestBodyHashingTests {
    private let folder = TemporaryFolder()
    private let content = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 5) })

    private func file() throws -> URL {
        let file = folder.url.appending(path: "content")
        try content.write(to: file)
        return file
    }

    private func stream(replayable: Bool, onOpen: @escaping @Sendable () -> Void = {})
        -> RequestBody
    {
        .stream(replayable: replayable) { [content] in
            onOpen()
            return AsyncStream { continuation in
                continuation.yield(content.prefix(400_000))
                continuation.yield(content.dropFirst(400_000))
                continuation.finish()
            }
        }
    }

    private func collected(_ body: RequestBody) async throws -> Data {
        let reader = try body.open()
        var all = Data()
        while let chunk = try await reader.next() { all.append(chunk) }
        return all
    }

    @Test(
        "A stream that ends because its task is cancelled has no digest", arguments: [nil, 800_000])
    func cutByCancellation(length: Int64?) async throws {
        // The stream would end with its continuation.
        let (chunks, continuation) = AsyncStream.makeStream(of: Data.self)
        defer { continuation.finish() }
        let body = RequestBody.stream(length: length, replayable: true) { chunks }
        let digest = Task { try await SHA256.digest(of: body) }
        digest.cancel()
        await #expect(throws: CancellationError.self) { try await digest.value }
    }

    @Test("It is that of the bytes that are sent, and the body can still be sent")
    func kinds() async throws {
        let file = try file()
        let bodies: [(RequestBody, Data)] = [
            (.empty, Data()), (.text("abc"), Data("abc".utf8)), (.data(content), content),
            (.file(file), content), (.file(file, range: 9..<70_000), content[9..<70_000]),
            (stream(replayable: true), content),
            (
                .concatenating([.text("a"), .file(file), stream(replayable: true)]),
                Data("a".utf8) + content + content
            ),
            (RequestBody.data(content).observed { _ in }, content),
        ]
        for (body, bytes) in bodies {
            #expect(body.canOpenAgain)
            for _ in 0..<2 {
                #expect(try await SHA256.digest(of: body) == SHA256.digest(of: Data(bytes)))
            }
            #expect(try await collected(body) == bytes)
        }
    }

    @Test("A body that can be read only once is refused, and not used up")
    func once() async throws {
        let opened = Mutex(0)
        let once = stream(replayable: false) { opened.withLock { $0 += 1 } }
        for body in [once, .concatenating([.text("a"), once])] {
            #expect(!body.canOpenAgain && body.isReplayable)
            let error = await #expect(throws: ClientError.self) {
                try await SHA256.digest(of: body)
            }
            #expect(error?.code == .bodyNotReplayable)
            #expect(error?.message.contains("found a request body that can be read only") == true)
        }
        #expect(opened.withLock { $0 } == 0)
        #expect(try await collected(once) == content)
    }

    @Test("What keeps the body from being read is the error")
    func faults() async throws {
        let missing = RequestBody.file(folder.url.appending(path: "missing"))
        let error = await #expect(throws: ClientError.self) {
            try await SHA256.digest(of: missing)
        }
        #expect(error?.code == .upload)
        struct Broken: Error {}
        await #expect(throws: Broken.self) {
            try await SHA256.digest(of: .catching { throw Broken() })
        }
        await #expect(throws: Broken.self) {
            try await SHA256.digest(
                of: .stream(replayable: true) {
                    AsyncThrowingStream<Data, any Error> { $0.finish(throwing: Broken()) }
                })
        }
    }

    // `observed` hears of each chunk in the task and on the executor that reads.
    @Test("A file and large data are read away from the tasks' common threads")
    func threads() async throws {
        for body in [RequestBody.file(try file()), .data(content)] {
            let isApart = Mutex<[Bool]>([])
            let seen = body.observed { _ in
                let apart = unsafe BlockingExecutor.shared.asUnownedTaskExecutor()
                let isSame = unsafe withUnsafeCurrentTask { task in
                    unsafe task?.unownedTaskExecutor == apart
                }
                isApart.withLock { $0.append(isSame) }
            }
            _ = try await SHA256.digest(of: seen)
            let answers = isApart.withLock { $0 }
            #expect(!answers.isEmpty && answers.allSatisfy { $0 })
        }
    }

    // It would take hours.
    @Test("It ends soon after the task is cancelled in the middle")
    func cancellation() async throws {
        let file = try file()
        try FileHandle(forWritingTo: file).truncate(atOffset: 1 << 40)
        let (chunks, chunk) = AsyncStream.makeStream(of: Void.self)
        let body = RequestBody.file(file).observed { _ in chunk.yield() }
        let task = Task { try await SHA256.digest(of: body) }
        for await _ in chunks { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
