// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

/// Chunks in a library's own memory, and heads that nobody has read.
@Suite("Foreign chunks")
struct ForeignChunkTests {
    private let notes = Notes()
    private let context = Context(timeSource: ManualClock())
    private let head = ResponseHead(status: 200, url: URL(filePath: "/"))

    /// A head that is read later, or turns out to be none.
    private final class Unread: LazyResponseHead {
        let result: Result<Exchange.Head, ClientError>
        init(_ result: Result<Exchange.Head, ClientError>) { self.result = result }
        func read() throws -> Exchange.Head { try result.get() }
    }

    private func exchange() -> Exchange {
        Exchange(context: context, flow: .pausing(highWater: 100_000, lowWater: 20)) {
        } onCancel: { [notes] reason in
            notes.add("cancel \(reason.owner)")
        }
    }

    private func chunk(_ name: String, _ count: Int) -> BodyChunk {
        let start = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 1)
        unsafe start.initializeMemory(as: UInt8.self, repeating: 7, count: count)
        let notes = notes
        return unsafe .foreign(
            UnownedBuffer(start: start, count: count) { bytes in
                notes.add("freed \(name)")
                unsafe bytes.deallocate()
            })
    }

    @Test("Foreign bytes become data and are released once", arguments: [1, 4096, 4097, 60_000])
    func data(count: Int) async throws {
        let exchange = exchange()
        exchange.receive(
            Unread(.success(Exchange.Head(head))), with: chunk("a", count),
            isComplete: true)
        do {
            let data = try await exchange.response().body.collect(upTo: 100_000)
            #expect(data == Data(repeating: 7, count: count))
        }
        #expect(notes.all == ["freed a"])
    }

    @Test("Foreign bytes reach a reader that waits")
    func waiting() async throws {
        let exchange = exchange()
        exchange.receive(Exchange.Head(head))
        async let first = exchange.next()
        exchange.receive(chunk("a", 3))
        #expect(try await first?.count == 3)
        #expect(notes.all == ["freed a"])
    }

    @Test("Bytes at or after a cancellation are released unread")
    func cancelled() async throws {
        let exchange = exchange()
        exchange.receive(Exchange.Head(head))
        exchange.receive(chunk("a", 3))
        exchange.receive(chunk("b", 3))
        exchange.cancel(.drop)
        #expect(exchange.receive(chunk("c", 3)), "there is nobody to wait for")
        #expect(notes.all.filter { $0.hasPrefix("freed") } == ["freed a", "freed b", "freed c"])
    }

    @Test("Bytes that nobody reads are released with the exchange")
    func dropped() {
        do { exchange().receive(chunk("a", 3)) }
        #expect(notes.all == ["freed a"])
    }

    @Test("An invalid head ends the exchange with its error")
    func broken() async throws {
        let exchange = exchange()
        let error = ClientError(.protocol, "no HTTP")
        exchange.receive(Unread(.failure(error)), with: chunk("a", 3), isComplete: false)
        await expectError(.protocol) { _ = try await exchange.response() }
        #expect(exchange.hasEnded)
        #expect(notes.all.count == 2, "the bytes go back, and the producer is told to stop")
    }
}
