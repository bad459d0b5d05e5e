// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

@Suite("The pipe between a request's content and libcurl")
struct UploadPipeTests {
    /// Tells each time that a pipe has something to say.
    private struct Fills: Sendable {
        private let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func add() { continuation.yield() }

        func next() async {
            var iterator = stream.makeAsyncIterator()
            _ = await iterator.next()
        }

        /// How often the pipe had something to say, and nobody has waited for it.
        func count() async -> Int {
            continuation.finish()
            return await stream.reduce(0) { count, _ in count + 1 }
        }
    }

    private let fills = Fills()

    private func pipe(_ body: RequestBody) throws -> UploadPipe {
        UploadPipe(try body.open()) { [fills] in fills.add() }
    }

    /// What a read of so many bytes gives; nil where it fails.
    private func read(_ count: Int, of pipe: UploadPipe) -> Data? {
        var bytes = [UInt8](repeating: 0, count: count)
        let portion = unsafe bytes.withUnsafeMutableBytes { unsafe pipe.read(into: $0) }
        guard case .bytes(let count) = portion else { return nil }
        return Data(bytes.prefix(count))
    }

    private func waits(_ pipe: UploadPipe) -> Bool {
        var byte: [UInt8] = [0]
        let portion = unsafe byte.withUnsafeMutableBytes { unsafe pipe.read(into: $0) }
        if case .wait = portion { return true }
        return false
    }

    /// Reads so many bytes, or what is left until the end, and waits where there is nothing yet.
    private func readSome(_ pipe: UploadPipe, _ count: Int, by step: Int = .max) async -> Data? {
        var content = Data()
        while content.count < count {
            if let more = read(min(step, count - content.count), of: pipe) {
                if more.isEmpty { return content }
                content += more
            } else if pipe.fault != nil {
                return nil
            } else {
                await fills.next()
            }
        }
        return content
    }

    @Test("All bytes come in order, however many are asked for", arguments: [1, 7, 64, 1000])
    func order(count: Int) async throws {
        let pieces = (0..<200).map { Data(repeating: UInt8($0), count: $0 % 9) }
        let pipe = try pipe(.stream { AsyncStream(yielding: pieces) })
        pipe.start()
        #expect(await readSome(pipe, 10_000, by: count) == Data(pieces.joined()))
        #expect(read(1, of: pipe) == Data(), "the end stays the end")
        #expect(pipe.fault == nil)
    }

    @Test("A reader that found nothing is told when something comes, and when the end does")
    func told() async throws {
        let content = AsyncStream.makeStream(of: Data.self)
        let pipe = try pipe(.stream { content.stream })
        #expect(waits(pipe))
        pipe.start()
        content.continuation.yield(Data("ab".utf8))
        await fills.next()
        #expect(read(9, of: pipe) == Data("ab".utf8))
        #expect(waits(pipe), "nothing is not the end")
        content.continuation.finish()
        await fills.next()
        #expect(read(9, of: pipe) == Data())
    }

    @TaskLocal static var caller = "none"

    @Test("A body that is opened again sees no task-local value of the task that opens it")
    func apart() async throws {
        let body = RequestBody.stream { AsyncStream(yielding: [Data(Self.caller.utf8)]) }
        let fills = fills
        let pipe = UploadPipe(opening: body) { fills.add() }
        Self.$caller.withValue("another") { pipe.start() }
        #expect(await readSome(pipe, 100, by: 100) == Data("none".utf8))
    }

    @Test("A reader that did not ask is told of the end alone")
    func quiet() async throws {
        let ended = AsyncStream.makeStream(of: Void.self)
        let body = RequestBody.stream { AsyncStream(yielding: [Data("a".utf8), Data("b".utf8)]) }
        let pipe = UploadPipe(try body.open()) { [fills] in
            fills.add()
            ended.continuation.yield()
        }
        pipe.start()
        for await _ in ended.stream { break }
        #expect(await fills.count() == 1)
        #expect(read(9, of: pipe) == Data("ab".utf8))
    }

    @Test("No more is taken from the source than the pipe has room for")
    func bounded() async throws {
        let source = CountedSource(limit: 100)
        let pipe = try pipe(.stream { source })
        pipe.start()
        var count = 0
        while count < 100 * CountedSource.chunkBytes {
            // Half a MiB ahead of the reader; and once half of that is read it goes on.
            await source.wait(for: min(100, count / CountedSource.chunkBytes + 8))
            for _ in 0..<10 { await Task.yield() }
            #expect(source.count <= count / CountedSource.chunkBytes + 8)
            let portion = await readSome(pipe, 4 * CountedSource.chunkBytes)
            count += try #require(portion).count
        }
        #expect(count == 100 * CountedSource.chunkBytes)
        #expect(source.count == 100)
    }

    @Test("A source that fails ends the content at once")
    func failure() async throws {
        struct Broken: Error {}
        let body = RequestBody.stream {
            AsyncThrowingStream<Data, any Error> {
                $0.yield(Data("ab".utf8))
                $0.finish(throwing: Broken())
            }
        }
        let pipe = try pipe(body)
        pipe.start()
        await fills.next()
        #expect((pipe.fault as? ClientError)?.underlying is Broken)
        #expect(read(9, of: pipe) == nil && !waits(pipe))
    }

    @Test("Trailer fields are there behind the content")
    func trailers() async throws {
        let body = RequestBody.stream { Pieces(Data("ab".utf8)) }.followed(by: ["X-Count": "2"])
        let pipe = try pipe(body)
        pipe.start()
        #expect(await readSome(pipe, 9) == Data("ab".utf8))
        #expect(pipe.trailers["X-Count"] == "2")
    }

    @Test("A pipe that is closed stops its source, and is let go of", arguments: [true, false])
    func closed(isStarted: Bool) async throws {
        let source = CountedSource(limit: .max)
        do {
            let ending = Ending(fills: fills)
            let body = RequestBody.stream { source }
            let pipe = UploadPipe(try body.open()) { withExtendedLifetime(ending) {} }
            if isStarted {
                pipe.start()
                await source.wait(for: 8)
            }
            pipe.close()
            #expect(read(9, of: pipe) == nil && !waits(pipe))
            if !isStarted { pipe.start() }
            #expect(pipe.fault == nil)
        }
        await fills.next()
        #expect(source.count == (isStarted ? 8 : 0))
    }

    /// Tells when it is let go of.
    private final class Ending: Sendable {
        private let fills: Fills

        init(fills: Fills) { self.fills = fills }

        deinit { fills.add() }
    }

    @Test("Content is opened by the pipe's task, which tells when it is there")
    func opening() async throws {
        let body = RequestBody.stream(replayable: true) { Pieces(Data("ab".utf8)) }
        let pipe = UploadPipe(opening: body) { [fills] in fills.add() }
        #expect(!pipe.isOpen)
        pipe.start()
        await fills.next()
        #expect(pipe.isOpen)
        #expect(await readSome(pipe, 9) == Data("ab".utf8))
    }

    @Test("Content that cannot be opened is a fault, and is waited for no longer")
    func unopened() async throws {
        struct Refused: Error {}
        let body = RequestBody.stream { () throws -> Pieces in throw Refused() }
        let pipe = UploadPipe(opening: body) { [fills] in fills.add() }
        pipe.start()
        await fills.next()
        #expect(pipe.isOpen && pipe.fault is Refused)
        #expect(read(9, of: pipe) == nil)
    }
}

extension AsyncStream where Element: Sendable {
    fileprivate init(yielding elements: [Element]) {
        self.init { continuation in
            for element in elements { continuation.yield(element) }
            continuation.finish()
        }
    }
}

/// Chunks of 64 KiB, which are counted when they are asked for.
private final class CountedSource: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private struct State {
        var count = 0
        var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    static let chunkBytes = 65_536

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    var count: Int { state.withLock { $0.count } }

    func makeAsyncIterator() -> CountedSource { self }

    func next() async throws -> Data? {
        let (isEnd, waiter) = state.withLock { state in
            if state.count == limit { return (true, state.waiter.take()?.continuation) }
            state.count += 1
            guard let waiter = state.waiter, waiter.count <= state.count else {
                return (false, nil)
            }
            state.waiter = nil
            return (false, waiter.continuation)
        }
        waiter?.resume()
        return isEnd ? nil : Data(count: Self.chunkBytes)
    }

    /// Waits until so many chunks were asked for.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count < count { state.waiter = (count, continuation) }
                return state.count >= count
            }
            if isThere { continuation.resume() }
        }
    }
}
