// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

/// A source that a test feeds, and that tells how it was given up.
private final class FedSource: ResponseBodySource {
    private let channel = AsyncThrowingStream.makeStream(of: Data.self)
    private let iterator: Mutex<AsyncThrowingStream<Data, any Error>.Iterator?>
    let cancels = Mutex<[String]>([])

    init(_ texts: [String] = [], finishes: Bool = true) {
        iterator = Mutex(nil)
        for text in texts { channel.continuation.yield(Data(text.utf8)) }
        if finishes { channel.continuation.finish() }
    }

    func next() async throws -> Data? {
        for try await chunk in channel.stream { return chunk }
        try Task.checkCancellation()
        return nil
    }

    func cancel(_ reason: CancelReason) {
        cancels.withLock { $0.append("\(reason.owner)") }
        channel.continuation.finish(throwing: reason.error)
    }
}

/// Counts ends, which must come exactly once.
private final class Ends: Sendable {
    private let kept = Mutex<[String]>([])
    var all: [String] { kept.withLock { $0 } }
    func add(_ end: ResponseBodyEnd) { kept.withLock { $0.append("\(end.reason)/\(end.bytes)") } }
}

@Suite("ResponseBody")
struct ResponseBodyTests {
    @Test("A body is read chunk by chunk and ends once")
    func reading() async throws {
        let body = ResponseBody(source: FedSource(["ab", "c"]))
        let ends = Ends()
        body.onEnd(ends.add)
        var chunks: [Data] = []
        for try await chunk in body { chunks.append(chunk) }
        #expect(chunks == [Data("ab".utf8), Data("c".utf8)])
        #expect(ends.all == ["finished/3"])
    }

    @Test("An end tells what was transferred: what was counted, or at the end what was declared")
    func encodedBytes() async throws {
        struct Counted: ResponseBodySource {
            let source: FedSource
            var encodedBytes: Int64? { 2 }
            func next() async throws -> Data? { try await source.next() }
            func cancel(_ reason: CancelReason) { source.cancel(reason) }
        }
        func end(of body: ResponseBody, reads: Int) async throws -> Int64? {
            let ends = Mutex<[Int64?]>([])
            body.onEnd { end in ends.withLock { $0.append(end.encodedBytes) } }
            var iterator: ResponseBody.AsyncIterator? = body.makeAsyncIterator()
            for _ in 0..<reads { _ = try await iterator?.next() }
            iterator = nil
            return try #require(ends.withLock { $0 }.first)
        }
        func body(_ source: any ResponseBodySource, _ length: Int64?) -> ResponseBody {
            ResponseBody(source: source, encodedLength: length)
        }
        #expect(try await end(of: body(Counted(source: FedSource(["abc"])), 9), reads: 2) == 2)
        #expect(try await end(of: body(Counted(source: FedSource(["abc"])), 9), reads: 1) == 2)
        #expect(try await end(of: body(FedSource(["abc"]), 9), reads: 2) == 9)
        #expect(try await end(of: body(FedSource(["abc"]), 9), reads: 1) == nil)
        #expect(try await end(of: body(FedSource(["abc"]), nil), reads: 2) == nil)
    }

    @Test("A second reading throws")
    func secondReading() async throws {
        for body in [ResponseBody(Data("abc".utf8)), ResponseBody(source: FedSource(["abc"]))] {
            #expect(try await body.collect(upTo: 10) == Data("abc".utf8))
            do {
                _ = try await body.collect(upTo: 10)
                Issue.record("was read twice")
            } catch ClientError.Code.unsupported {}
        }
    }

    @Test("A body without content has ended from the beginning")
    func empty() async throws {
        let ends = Ends()
        let body = ResponseBody.empty
        body.onEnd(ends.add)
        #expect(ends.all == ["finished/0"])
        #expect(try await body.collect(upTo: 0).isEmpty)
    }

    @Test("Dropping the body ends the transfer")
    func dropOfBody() async throws {
        let source = FedSource(["ab"], finishes: false)
        let ends = Ends()
        do {
            let body = ResponseBody(source: source)
            body.onEnd(ends.add)
        }
        #expect(source.cancels.withLock { $0 } == ["drop"])
        #expect(ends.all == ["dropped/0"])
    }

    @Test("Dropping the iterator ends the transfer while the response lives")
    func dropOfIterator() async throws {
        let source = FedSource(["ab", "cd"], finishes: false)
        let body = ResponseBody(source: source)
        let ends = Ends()
        body.onEnd(ends.add)
        for try await _ in body { break }
        #expect(source.cancels.withLock { $0 } == ["drop"])
        #expect(ends.all == ["dropped/2"])
        withExtendedLifetime(body) {}
    }

    @Test("Cancelling the reader's task ends the transfer at once")
    func taskCancel() async throws {
        let stalled = AsyncStream<Data> { _ in }
        let body = ResponseBody(stalled)
        let ends = Ends()
        body.onEnd(ends.add)
        let began = AsyncStream.makeStream(of: Void.self)
        body.onPull { began.continuation.yield() }
        let reader = Task { try await body.collect(upTo: 10) }
        for await _ in began.stream.prefix(1) {}
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(ends.all == ["cancelled/0"])
    }

    @Test("A sequence that answers after the end is released, even while the body is kept")
    func lateAnswer() async throws {
        let (began, mayAnswer, ended) = (
            SharedValue<Void>(), SharedValue<Void>(), SharedValue<Void>()
        )
        /// Deaf to its task's cancellation, and tells of its own end.
        final class Iterator: AsyncIteratorProtocol {
            let answer: @Sendable () async -> Void
            let end: @Sendable () -> Void
            init(
                answer: @escaping @Sendable () async -> Void, end: @escaping @Sendable () -> Void
            ) {
                self.answer = answer
                self.end = end
            }
            deinit { end() }
            func next() async -> Data? {
                await answer()
                return Data("late".utf8)
            }
        }
        struct Late: AsyncSequence, Sendable {
            let answer: @Sendable () async -> Void
            let end: @Sendable () -> Void
            func makeAsyncIterator() -> Iterator { Iterator(answer: answer, end: end) }
        }
        let chunks = Late {
            began.settle(.success(()))
            await Task { _ = try? await mayAnswer.value() }.value
        } end: {
            ended.settle(.success(()))
        }
        let body = ResponseBody(chunks)
        let reader = Task { try await body.collect(upTo: 10) }
        try await began.value()
        body.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        mayAnswer.settle(.success(()))
        try await until("the end of the sequence") { ended.result != nil }
        withExtendedLifetime(body) {}
    }

    @Test("A wait that begins while the body ends leaves no timer")
    func endWhileArming() async throws {
        struct Ending: TimeSource {
            let clock: ManualClock
            let end: @Sendable () -> Void
            var now: MonotonicInstant { clock.now }
            var date: Date { clock.date }
            func schedule(
                after delay: Duration, _ handler: @escaping @Sendable () -> Void
            ) -> any TimerToken {
                defer { end() }
                return clock.schedule(after: delay, handler)
            }
        }
        let clock = ManualClock()
        let body = ResponseBody(AsyncStream<Data> { _ in })
        let canceller = body.canceller
        body.limitIdleTime(
            to: .seconds(10), timeSource: Ending(clock: clock) { canceller.cancel(.handle) })
        await #expect(throws: CancellationError.self) { try await body.collect(upTo: 10) }
        #expect(clock.timerCount == 0)
    }

    @Test("The waiting reader gets the reason of the gate that cancels")
    func cancelWithError() async throws {
        struct Late: Error {}
        let body = ResponseBody(AsyncStream<Data> { _ in })
        let canceller = body.canceller
        body.onPull { canceller.cancel(.failed(Late())) }
        await #expect(throws: Late.self) { try await body.collect(upTo: 10) }
    }

    @Test("An error comes after the chunks before it")
    func failure() async throws {
        struct Broken: Error {}
        let transport = MockTransport { _ in
            .stream([Data("a".utf8), Data("b".utf8)], thenThrow: Broken())
        }
        let response = try await transport.send(
            Request(.get, "http://a.example/"), context: Context(timeSource: ManualClock()))
        var seen = 0
        do {
            for try await _ in response.body { seen += 1 }
            Issue.record("ended well")
        } catch is Broken {}
        #expect(seen == 2)
    }

    @Test("collect refuses an announced length before it reads, and a longer body as it comes")
    func limits() async throws {
        let announced = FedSource(["abcdef"])
        let body = ResponseBody(source: announced, length: 1 << 60)
        let pulls = Mutex(0)
        body.onPull { pulls.withLock { $0 += 1 } }
        do {
            _ = try await body.collect(upTo: 5)
            Issue.record("was read")
        } catch ClientError.Code.tooLarge {}
        #expect(pulls.withLock { $0 } == 0)
        #expect(announced.cancels.withLock { $0 } == ["gate"])
        let growing = FedSource(["abc", "def", "ghi"], finishes: false)
        do {
            _ = try await ResponseBody(source: growing).collect(upTo: 5)
            Issue.record("was read")
        } catch ClientError.Code.tooLarge {}
        #expect(growing.cancels.withLock { $0 } == ["gate"])
    }

    @Test("A watcher of chunks can refuse one, which ends the transfer")
    func refusal() async throws {
        struct Refused: Error {}
        let source = FedSource(["a", "b"], finishes: false)
        let body = ResponseBody(source: source)
        body.onChunk { if $0 == Data("b".utf8) { throw Refused() } }
        await #expect(throws: Refused.self) { try await body.collect(upTo: 10) }
        #expect(source.cancels.withLock { $0 } == ["gate"])
    }

    @Test("transforming changes chunks and adds a tail; its drop ends the first body")
    func transforming() async throws {
        let upper = ResponseBody(source: FedSource(["ab", "skip", "c"])).transforming { chunk in
            chunk == Data("skip".utf8)
                ? Data() : Data(String(decoding: chunk, as: UTF8.self).uppercased().utf8)
        } finish: {
            Data("!".utf8)
        }
        #expect(try await upper.collect(upTo: 10) == Data("ABC!".utf8))
        let source = FedSource(["ab"], finishes: false)
        do { _ = ResponseBody(source: source).transforming { $0 } }
        #expect(source.cancels.withLock { $0 } == ["drop"])
    }

    @Test("A transform that throws ends the first body, while the response is still held")
    func transformingFails() async throws {
        struct Refused: Error {}
        let source = FedSource(["ab"], finishes: false)
        let body = ResponseBody(source: source).transforming { _ in throw Refused() }
        await #expect(throws: Refused.self) { try await body.collect(upTo: 10) }
        #expect(source.cancels.withLock { $0 } == ["gate"])
        #expect(body.length == nil)
    }

    @Test("A peek puts back what it read")
    func peek() async throws {
        var body = ResponseBody(source: FedSource(["ab", "cd", "ef"]))
        #expect(try await body.peek(upTo: 3) == Data("abcd".utf8))
        #expect(try await body.collect(upTo: 10) == Data("abcdef".utf8))
        var small = ResponseBody(Data("x".utf8))
        #expect(try await small.peek(upTo: 100) == Data("x".utf8))
        #expect(try await small.collect(upTo: 10) == Data("x".utf8))
    }

    @Test("Concatenating keeps order and length")
    func concatenating() async throws {
        let body = ResponseBody.concatenating(
            Data("ab".utf8), ResponseBody(source: FedSource(["cd"]), length: 2))
        #expect(body.length == 4)
        #expect(try await body.collect(upTo: 10) == Data("abcd".utf8))
    }
}
