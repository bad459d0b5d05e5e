// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

private struct Broken: Error {}

/// What an exchange has at hand is read without a wait, and the rest in its place.
@Suite("Chunks that are ready")
struct ReadyChunkTests {
    private let exchange: Exchange
    private let body: ResponseBody
    private let pulls = Tally()

    init() async throws {
        exchange = Exchange(context: Context(timeSource: ManualClock())) { _ in }
        exchange.receive(
            Exchange.Head(ResponseHead(status: 200, url: URL(filePath: "/"))))
        body = try await exchange.response().body
    }

    private func receive(_ text: String) { exchange.receive(Data(text.utf8)) }

    /// Feeds the exchange when its reader is about to look for more, or has begun to wait.
    private func feed(waiting: Bool, _ texts: String...) {
        let texts = Mutex(texts)
        body.onPull { [exchange, pulls] in
            pulls.add()
            let text = texts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            let give: @Sendable () -> Void = {
                guard let text else { return exchange.finish() }
                exchange.receive(Data(text.utf8))
            }
            if waiting { Task { give() } } else { give() }
        }
    }

    @Test(
        "Order and number of pulls do not depend on waiting",
        arguments: [true, false])
    func order(waiting: Bool) async throws {
        feed(waiting: waiting, "a", "b", "c")
        let content = try await body.collect(upTo: 10)
        #expect(String(decoding: content, as: UTF8.self) == "abc")
        #expect(pulls.count == 4)
    }

    @Test("Reading chunk by chunk gives the same", arguments: [true, false])
    func chunks(waiting: Bool) async throws {
        feed(waiting: waiting, "a", "b", "c")
        var chunks: [Data] = []
        for try await chunk in body { chunks.append(chunk) }
        #expect(chunks == [Data("a".utf8), Data("b".utf8), Data("c".utf8)])
    }

    @Test("An error after ready chunks ends the body with that error, once")
    func failure() async throws {
        receive("a")
        exchange.fail(Broken())
        let ends = Mutex<[Bool]>([])
        body.onEnd { end in
            guard case .failed(let error) = end.reason else { return }
            ends.withLock { $0.append(error is Broken) }
        }
        await #expect(throws: Broken.self) { try await body.collect(upTo: 10) }
        #expect(ends.withLock { $0 } == [true])
    }

    @Test("A limit holds for ready chunks")
    func bound() async throws {
        receive("abc")
        receive("def")
        let error = await #expect(throws: ClientError.self) { try await body.collect(upTo: 5) }
        #expect(error?.code == .tooLarge)
    }

    @Test(
        "A reader whose task is cancelled gets no more ready chunks, and its source is cancelled",
        arguments: Reading.allCases, [true, false])
    func cancellation(reading: Reading, isWrapped: Bool) async throws {
        let cancels = Tally()
        let exchange = Exchange(context: Context(timeSource: ManualClock())) { _ in cancels.add() }
        exchange.receive(
            Exchange.Head(ResponseHead(status: 200, url: URL(filePath: "/"))))
        for _ in 0..<100 { exchange.receive(Data("abc".utf8)) }
        let body =
            isWrapped ? ResponseBody(source: exchange) : try await exchange.response().body
        let ends = Mutex<[Int64]>([])
        body.onEnd { end in
            guard case .cancelled = end.reason else { return }
            ends.withLock { $0.append(end.bytes) }
        }
        let reader = Task {
            body.onChunk { _ in unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            try await reading.read(body)
        }
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(ends.withLock { $0 } == [3])
        #expect(cancels.count == 1)
    }

    @Test("A task that was cancelled before reads nothing")
    func cancelledBefore() async throws {
        let reader = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await ResponseBody(Data("x".utf8)).collect(upTo: 9)
        }
        await #expect(throws: CancellationError.self) { try await reader.value }
    }

    @Test("A cancellation does not fail a body without content")
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
