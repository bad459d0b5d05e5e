// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("SpillFile")
struct SpillFileTests {
    @Test("A file of unread bytes does not grow with the bytes that were read")
    func size() throws {
        let file = try SpillFile(limit: 2_000_000, partBytes: 1_000_000)
        var written: UInt8 = 0
        func append() throws {
            try file.append(Data(repeating: written, count: 262_144))
            written &+= 1
        }
        for _ in 0..<5 { try append() }
        #expect(file.size == 5 * 262_144)
        for round in 0..<100 {
            try append()
            let chunk = try #require(try file.read())
            #expect(chunk.count == 262_144 && chunk.allSatisfy { $0 == UInt8(round) })
            #expect(file.size <= 3_500_000)
        }
        for _ in 0..<5 { #expect(try file.read()?.count == 262_144) }
        #expect(try file.isEmpty && file.size == 0 && file.read() == nil)
    }
}

@Suite("Exchange")
struct ExchangeTests {
    private let notes = Notes()
    private let context = Context(timeSource: ManualClock())
    private let head = Exchange.Head(
        ResponseHead(status: 200, url: URL(filePath: "/")), length: nil)

    private func exchange(_ flow: Flow = .pausing(highWater: 100, lowWater: 20)) -> Exchange {
        Exchange(context: context, flow: flow) { [notes] in
            notes.add("resume")
        } onCancel: { [notes] reason in
            notes.add("cancel \(reason.owner)")
        }
    }

    private func bytes(_ count: Int) -> Data { Data(repeating: 7, count: count) }

    @Test("Head, chunks and end reach the reader in order")
    func order() async throws {
        let exchange = exchange()
        exchange.receive(head)
        exchange.receive(bytes(1))
        exchange.receive(bytes(2))
        exchange.finish()
        let response = try await exchange.response()
        var sizes: [Int] = []
        for try await chunk in response.body { sizes.append(chunk.count) }
        #expect(sizes == [1, 2])
        #expect(notes.all.isEmpty, "what ended by itself is not cancelled")
    }

    @Test("A failure comes after the chunks before it")
    func failure() async throws {
        struct Broken: Error {}
        let exchange = exchange()
        exchange.receive(head)
        exchange.receive(bytes(3))
        exchange.fail(Broken())
        exchange.finish()
        let body = try await exchange.response().body
        var seen = 0
        await #expect(throws: Broken.self) { for try await chunk in body { seen += chunk.count } }
        #expect(seen == 3)
    }

    @Test("A producer pauses above the high water mark and resumes below the low one")
    func flow() async throws {
        let exchange = exchange()
        exchange.receive(head)
        #expect(exchange.receive(bytes(60)))
        #expect(!exchange.receive(bytes(60)))
        let body = try await exchange.response().body
        var iterator = body.makeAsyncIterator()
        #expect(try await iterator.next()?.count == 60)
        #expect(notes.all.isEmpty)
        #expect(try await iterator.next()?.count == 60)
        #expect(notes.all == ["resume"])
        exchange.finish()
        #expect(try await iterator.next() == nil)
    }

    @Test("Exactly at the high water mark it pauses, and at the low one it resumes")
    func marks() async throws {
        let exchange = exchange()
        exchange.receive(head)
        #expect(exchange.receive(bytes(79)))
        #expect(exchange.receive(bytes(1)))
        #expect(!exchange.receive(bytes(20)))
        var iterator = try await exchange.response().body.makeAsyncIterator()
        #expect(try await iterator.next()?.count == 79)
        #expect(notes.all.isEmpty)
        #expect(try await iterator.next()?.count == 1)
        #expect(notes.all == ["resume"])
    }

    @Test(
        "The first reason decides, and the transport is told once",
        arguments: ["task", "gate", "drop", "finish"])
    func firstReason(first: String) async throws {
        struct Late: Error {}
        let exchange = exchange()
        exchange.receive(head)
        var response: Response? = try await exchange.response()
        switch first {
        case "task": exchange.cancel(.task)
        case "gate": context.cancel(.failed(Late()))
        case "drop": response = nil
        default: exchange.finish()
        }
        exchange.cancel(.handle)
        context.cancel(.handle)
        exchange.fail(Late())
        exchange.receive(bytes(1))
        #expect(notes.all == (first == "finish" ? [] : ["cancel \(first)"]))
        #expect(exchange.hasEnded)
        if let body = response?.body, first == "gate" {
            await #expect(throws: Late.self) { try await body.collect(upTo: 10) }
        }
    }

    @Test("A context that is already cancelled ends the exchange at once")
    func cancelledBefore() async throws {
        context.cancel(.handle)
        let exchange = exchange()
        #expect(notes.all == ["cancel handle"])
        await #expect(throws: CancellationError.self) { try await exchange.response() }
    }

    @Test("Cancelling a task that waits for the head or a chunk wakes it at once")
    func wakeUp() async throws {
        let exchange = exchange()
        let waiting = Task { try await exchange.response() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(notes.all == ["cancel task"])
        let second = self.exchange()
        second.receive(head)
        let body = try await second.response().body
        let pulled = AsyncStream.makeStream(of: Void.self)
        body.onPull { pulled.continuation.yield() }
        let reading = Task { try await body.collect(upTo: 10) }
        for await _ in pulled.stream.prefix(1) {}
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test("An end without a head is an error")
    func noHead() async throws {
        let exchange = exchange()
        exchange.finish()
        let error = await #expect(throws: ClientError.self) { try await exchange.response() }
        #expect(error?.code == .protocol)
    }

    @Test(
        "Bytes ahead of the reader go to a file and come back in order, in bounded memory")
    func spilling() async throws {
        let exchange = exchange(.spilling(memoryLimit: 1000, fileLimit: 1_000_000))
        exchange.receive(head)
        var expected = Data()
        var random = SeededGenerator(seed: 5)
        let body = try await exchange.response().body
        var iterator = body.makeAsyncIterator()
        var got = Data()
        for round in 0..<200 {
            let chunk = Data(
                (0..<Int.random(in: 1...900, using: &random)).map {
                    UInt8(truncatingIfNeeded: $0 &+ round)
                })
            expected += chunk
            #expect(exchange.receive(chunk))
            if round % 7 == 0, let part = try await iterator.next() { got += part }
        }
        exchange.finish()
        while let part = try await iterator.next() { got += part }
        #expect(got == expected)
    }

    @Test("A file that would grow beyond its bound ends the exchange")
    func spillLimit() async throws {
        let exchange = exchange(.spilling(memoryLimit: 10, fileLimit: 100))
        exchange.receive(head)
        let body = try await exchange.response().body
        #expect(exchange.receive(bytes(60)))
        #expect(exchange.receive(bytes(60)))
        #expect(!exchange.receive(bytes(60)))
        #expect(notes.all == ["cancel gate"])
        let error = await #expect(throws: ClientError.self) { try await body.collect(upTo: 1000) }
        #expect(error?.code == .tooLarge)
    }

    @Test("An exchange that its transport drops before its end keeps no call open")
    func letGo() async throws {
        struct Refusing: Transport {
            struct Refusal: Error {}
            var capabilities: TransportCapabilities { [] }
            func send(_ request: Request, context: Context) async throws -> Response {
                let exchange = Exchange(context: context) { _ in }
                exchange.receive(Data([1]))
                throw Refusal()
            }
            func shutdown() async {}
        }
        let client = Client(Refusing())
        await #expect(throws: Refusing.Refusal.self) { try await client.get(anywhere).response() }
        #expect(client.runningCallCount == 0)
    }
}
