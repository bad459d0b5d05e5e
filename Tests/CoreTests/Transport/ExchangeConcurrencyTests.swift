// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Exchange, from several threads")
struct ExchangeConcurrencyTests {
    private static let head = Exchange.Head(
        ResponseHead(status: 200, url: URL(filePath: "/")), length: nil)

    private struct Race: Sendable {
        let context = Context(timeSource: ManualClock())
        let cancels = Tally()
        let exchange: Exchange

        init() {
            exchange = Exchange(context: context) { [cancels] _ in cancels.add() }
        }
    }

    @Test("An exchange that many sides end at once ends once, and its reader returns")
    func ends() async {
        struct Broken: Error {}
        let races = (0..<1000).map { _ in Race() }
        let returned = Tally()
        await atOnce(
            races,
            { race in
                race.exchange.receive(Self.head)
                let body = (try? await race.exchange.response())?.body
                _ = try? await body?.collect(upTo: 100)
                returned.add()
            },
            { $0.exchange.cancel(.task) },
            { $0.context.cancel(.handle) },
            { $0.exchange.receive(Data([1])) },
            { $0.exchange.finish() },
            { $0.exchange.fail(Broken()) })
        #expect(returned.count == 1000)
        #expect(races.allSatisfy { $0.exchange.hasEnded })
        #expect(races.allSatisfy { $0.cancels.count <= 1 })
    }

    @Test("A reader that is dropped while chunks arrive cancels the exchange, unless it has ended")
    func drops() async throws {
        let races = (0..<500).map { _ in Race() }
        await atOnce(
            races,
            { race in
                race.exchange.receive(Self.head)
                await Self.readOneChunk(of: race.exchange)
            },
            { race in
                for number in 0..<10 { race.exchange.receive(Data([UInt8(number)])) }
                race.exchange.finish()
            })
        #expect(races.allSatisfy { $0.exchange.hasEnded && $0.cancels.count <= 1 })
    }

    private static func readOneChunk(of exchange: Exchange) async {
        guard let body = (try? await exchange.response())?.body else { return }
        var iterator = body.makeAsyncIterator()
        _ = try? await iterator.next()
    }

    @Test(
        "Every byte from a producer reaches its reader once and in order",
        arguments: [true, false])
    func flow(spills: Bool) async throws {
        let context = Context(timeSource: ManualClock())
        let mayGoOn = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let exchange = Exchange(
            context: context,
            flow: spills
                ? .spilling(memoryLimit: 2000, fileLimit: 100_000_000)
                : .pausing(highWater: 2000, lowWater: 500)
        ) {
            mayGoOn.continuation.yield()
        } onCancel: { _ in
        }
        exchange.receive(Self.head)
        let body = try await exchange.response().body
        let chunks = (0..<5000).map { number in
            Data(repeating: UInt8(truncatingIfNeeded: number), count: number % 97 + 1)
        }
        async let got = body.collect(upTo: 1_000_000)
        var resumes = mayGoOn.stream.makeAsyncIterator()
        for chunk in chunks where !exchange.receive(chunk) { await resumes.next() }
        exchange.finish()
        #expect(try await got == chunks.reduce(into: Data()) { $0 += $1 })
    }
}
