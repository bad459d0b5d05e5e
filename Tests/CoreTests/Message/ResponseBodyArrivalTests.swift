// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

private struct TooLate: Error {}
private struct Broken: Error {}

/// Which came first, the end of a body or of its time.
@Suite("Time limits and the arrival of a body")
struct ResponseBodyArrivalTests {
    private let notes = Notes()
    private let context = Context(timeSource: ManualClock())

    private func exchange(_ flow: Flow = .pausing()) -> Exchange {
        let exchange = Exchange(context: context, flow: flow) { [notes] in
            notes.add("cancel \($0.owner)")
        }
        exchange.receive(
            Exchange.Head(ResponseHead(status: 200, url: URL(filePath: "/"))))
        exchange.receive(Data("abc".utf8))
        return exchange
    }

    /// The body, and wrappers of it.
    enum Wrapper: CaseIterable {
        case none, source, transforming, concatenating, peek

        func body(of exchange: Exchange) async throws -> ResponseBody {
            // It has one body alone, which would end it when it is let go of.
            if self == .source { return ResponseBody(source: exchange) }
            let body = try await exchange.response().body
            switch self {
            case .none, .source: return body
            case .transforming: return body.transforming { $0 }
            case .concatenating: return .concatenating(Data(), body)
            case .peek:
                var body = body
                _ = try await body.peek(upTo: 1)
                return body
            }
        }
    }

    @Test(
        "A time limit does not end a body that has arrived completely",
        arguments: Wrapper.allCases)
    func complete(wrapper: Wrapper) async throws {
        let exchange = exchange()
        let body = try await wrapper.body(of: exchange)
        #expect(body.arrival == .underWay)
        exchange.receive(Data("d".utf8))
        exchange.finish()
        #expect(body.arrival == .complete)
        context.cancel(.expired(TooLate()))
        body.cancel(.expired(TooLate()))
        exchange.cancel(.expired(TooLate()))
        #expect(try await body.collect(upTo: 10) == Data("abcd".utf8))
        #expect(notes.all.isEmpty)
    }

    @Test("A body that broke off in time keeps its own error", arguments: Wrapper.allCases)
    func broken(wrapper: Wrapper) async throws {
        let exchange = exchange()
        let body = try await wrapper.body(of: exchange)
        exchange.fail(Broken())
        #expect(body.arrival == .broken)
        context.cancel(.expired(TooLate()))
        body.cancel(.expired(TooLate()))
        var iterator = body.makeAsyncIterator()
        #expect(try await iterator.next() == Data("abc".utf8))
        await #expect(throws: Broken.self) { try await iterator.next() }
    }

    @Test(
        "A body that is still arriving ends at once, and stays ended",
        arguments: Wrapper.allCases)
    func underWay(wrapper: Wrapper) async throws {
        let exchange = exchange()
        let body = try await wrapper.body(of: exchange)
        body.onEnd { [notes] end in notes.add(end.isFinished ? "finished" : "failed") }
        body.cancel(.expired(TooLate()))
        exchange.finish()
        body.cancel(.handle)
        #expect(notes.all == ["failed", "cancel gate"])
        await #expect(throws: TooLate.self) { try await body.collect(upTo: 10) }
    }

    @Test("The context's time ends the exchange and then the body")
    func contextFirst() async throws {
        let exchange = exchange()
        let body = try await exchange.response().body
        context.cancel(.expired(TooLate()))
        #expect(body.arrival == .underWay)
        body.onEnd { [notes] _ in notes.add("end") }
        body.cancel(.expired(TooLate()))
        #expect(notes.all == ["cancel gate", "end"])
    }

    @Test(
        "Other reasons end also a complete body",
        arguments: [CancelReason.handle, .failed(TooLate())])
    func otherReasons(reason: CancelReason) async throws {
        let exchange = exchange()
        let body = try await exchange.response().body
        exchange.finish()
        body.cancel(reason)
        let error = await #expect(throws: (any Error).self) { try await body.collect(upTo: 10) }
        #expect(reason.owner == .handle ? error is CancellationError : error is TooLate)
    }

    @Test("A body that was spilled to a file counts as arrived")
    func spilled() async throws {
        let exchange = exchange(.spilling(memoryLimit: 4, fileLimit: 1000))
        let body = try await exchange.response().body
        for _ in 0..<10 { exchange.receive(Data("0123456789".utf8)) }
        exchange.finish()
        #expect(body.arrival == .complete)
        body.cancel(.expired(TooLate()))
        #expect(try await body.collect(upTo: 1000).count == 103)
    }

    @Test("Of an end and a time limit at the same time exactly one wins")
    func race() async throws {
        struct Race: Sendable {
            let context: Context
            let exchange: Exchange
            let body: ResponseBody
            let ends = Notes()
        }
        var races: [Race] = []
        for _ in 0..<1000 {
            let context = Context(timeSource: ManualClock())
            let exchange = Exchange(context: context) { _ in }
            exchange.receive(
                Exchange.Head(ResponseHead(status: 200, url: URL(filePath: "/"))))
            exchange.receive(Data("abc".utf8))
            let body = try await exchange.response().body
            races.append(Race(context: context, exchange: exchange, body: body))
            let race = races[races.count - 1]
            body.onEnd { race.ends.add("\($0.isFinished)") }
        }
        await atOnce(
            races,
            { $0.exchange.finish() },
            { race in
                race.context.cancel(.expired(TooLate()))
                race.body.cancel(.expired(TooLate()))
            })
        for race in races {
            let hasCome = race.body.arrival == .complete
            let read = try? await race.body.collect(upTo: 10)
            #expect(read == (hasCome ? Data("abc".utf8) : nil))
            #expect(race.ends.all == ["\(hasCome)"])
        }
    }
}
