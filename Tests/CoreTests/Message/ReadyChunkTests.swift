import Foundation
import Synchronization
import Testing
import TurnpikeCore

/// A source of which some chunks are here, and others have to be waited for.
private final class HalfReadySource: ResponseBodySource {
    private let steps: Mutex<[ReadyChunk]>
    let waits = Mutex(0)
    let cancels = Mutex(0)

    init(_ steps: [ReadyChunk]) { self.steps = Mutex(steps) }

    func takeReady() throws -> ReadyChunk {
        let step = steps.withLock { $0.isEmpty ? .end : $0.removeFirst() }
        if case .chunk(let chunk) = step, chunk == Data("!".utf8) { throw Broken() }
        return step
    }

    func next() async throws -> Data? {
        waits.withLock { $0 += 1 }
        return Data("w".utf8)
    }

    func cancel(_ reason: CancelReason) { cancels.withLock { $0 += 1 } }

    /// The number of steps that nobody has taken.
    var left: Int { steps.withLock { $0.count } }
}

private struct Broken: Error {}

@Suite("Chunks that are here")
struct ReadyChunkTests {
    private func chunk(_ text: String) -> ReadyChunk { .chunk(Data(text.utf8)) }

    @Test("Only what is not here is waited for, in its place, and each pull is told of once")
    func order() async throws {
        let source = HalfReadySource([chunk("a"), .notYet, chunk("b"), .notYet])
        let body = ResponseBody(source: source)
        let pulls = Mutex(0)
        body.onPull { pulls.withLock { $0 += 1 } }
        let content = try await body.collect(upTo: 10)
        #expect(String(decoding: content, as: UTF8.self) == "awbw")
        #expect(source.waits.withLock { $0 } == 2)
        #expect(pulls.withLock { $0 } == 5)
    }

    @Test("Reading chunk by chunk gives the same")
    func chunks() async throws {
        let source = HalfReadySource([chunk("a"), .notYet, chunk("b")])
        var chunks: [Data] = []
        for try await chunk in ResponseBody(source: source) { chunks.append(chunk) }
        #expect(chunks == [Data("a".utf8), Data("w".utf8), Data("b".utf8)])
        #expect(source.waits.withLock { $0 } == 1)
    }

    @Test("What is thrown instead of a chunk ends the body with that error")
    func failure() async throws {
        let body = ResponseBody(source: HalfReadySource([chunk("a"), chunk("!"), chunk("b")]))
        let ends = Mutex<[Bool]>([])
        body.onEnd { end in
            guard case .failed(let error) = end.reason else { return }
            ends.withLock { $0.append(error is Broken) }
        }
        await #expect(throws: Broken.self) { try await body.collect(upTo: 10) }
        #expect(ends.withLock { $0 } == [true])
    }

    @Test("A bound holds for chunks that are here")
    func bound() async throws {
        let body = ResponseBody(source: HalfReadySource([chunk("abc"), chunk("def")]))
        let error = await #expect(throws: ClientError.self) { try await body.collect(upTo: 5) }
        #expect(error?.code == .tooLarge)
    }

    @Test(
        "A reader whose task is cancelled gets nothing more of what is here, and its source hears of it",
        arguments: Reading.allCases)
    func cancellation(reading: Reading) async throws {
        let source = HalfReadySource((0..<100).map { _ in chunk("abc") })
        let body = ResponseBody(source: source)
        let ends = Mutex<[Bool]>([])
        body.onEnd { end in
            guard case .cancelled = end.reason else { return }
            ends.withLock { $0.append(true) }
        }
        let reader = Task {
            body.onChunk { _ in unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            try await reading.read(body)
        }
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(source.left == 99)
        #expect(source.cancels.withLock { $0 } == 1)
        #expect(ends.withLock { $0 } == [true])
    }

    @Test("Nothing is read by a task that was cancelled before")
    func cancelledBefore() async throws {
        let reader = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await ResponseBody(Data("x".utf8)).collect(upTo: 9)
        }
        await #expect(throws: CancellationError.self) { try await reader.value }
    }

    @Test("Of a body without content there is nothing that a cancellation could take")
    func cancelledEmpty() async throws {
        let reader = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await ResponseBody.empty.collect(upTo: 9)
        }
        #expect(try await reader.value.isEmpty)
    }
}

/// The ways in which a body is read.
enum Reading: CaseIterable {
    case whole
    case chunks
    case beginning
    case ahead
    case behindBeginning

    func read(_ body: ResponseBody) async throws {
        var body = body
        switch self {
        case .whole: _ = try await body.collect(upTo: 1000)
        case .chunks: for try await _ in body {}
        case .beginning: _ = try await body.peek(upTo: 1000)
        case .ahead: _ = try await body.readAhead(upTo: 1000)
        case .behindBeginning:
            _ = try await body.peek(upTo: 3)
            _ = try await body.collect(upTo: 1000)
        }
    }
}
