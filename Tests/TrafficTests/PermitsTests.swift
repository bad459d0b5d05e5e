// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("Permits")
struct PermitsTests {
    private let clock = ManualClock()

    private static func origin(_ number: Int) -> Origin {
        Origin(scheme: "http", host: "h\(number).example", port: 80)
    }

    // What is wanted, without any art.
    private struct Model {
        let total: Int
        let perOrigin: Int
        var held: [Int: Int] = [:]
        var waiting: [(origin: Int, waiter: Waiter)] = []

        mutating func serve() -> [ObjectIdentifier] {
            var served: [ObjectIdentifier] = []
            while held.values.reduce(0, +) < total,
                let place = waiting.firstIndex(where: { held[$0.origin, default: 0] < perOrigin })
            {
                let (origin, waiter) = waiting.remove(at: place)
                held[origin, default: 0] += 1
                served.append(ObjectIdentifier(waiter))
            }
            return served
        }
    }

    @Test("The next permit goes to the longest waiting call that may run", arguments: 0..<8)
    func order(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let permits = Permits(total: 6, perOrigin: 2, queue: 10_000, adaptive: nil)
        var model = Model(total: 6, perOrigin: 2)
        for _ in 0..<4000 {
            let number = Int.random(in: 0..<7, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                if let waiter = try permits.take(Self.origin(number), timeSource: clock) {
                    model.waiting.append((number, waiter))
                    #expect(model.serve().isEmpty)
                } else {
                    model.held[number, default: 0] += 1
                }
            case 2, 3:
                guard model.held[number, default: 0] > 0 else { continue }
                let before = model.waiting.map(\.waiter)
                permits.giveBack(Self.origin(number))
                model.held[number, default: 0] -= 1
                let served = before.filter(\.turn.isSettled).map { ObjectIdentifier($0) }
                // Room for one was made.
                #expect(served == model.serve())
            default:
                guard !model.waiting.isEmpty else { continue }
                let place = Int.random(in: model.waiting.indices, using: &random)
                let (origin, waiter) = model.waiting.remove(at: place)
                #expect(permits.leave(Self.origin(origin), waiter))
                #expect(!permits.leave(Self.origin(origin), waiter))
            }
            #expect(permits.heldCount == model.held.values.reduce(0, +))
            #expect(permits.waitingCount == model.waiting.count)
        }
    }

    /// How long it takes to let many wait, each for another origin, until all have had their turn.
    private func timeToServe(_ count: Int) throws -> Duration {
        let origins = (1...count).map { Self.origin($0) }
        let start = ThreadTime.now
        let permits = Permits(total: 1, perOrigin: 1, queue: count, adaptive: nil)
        #expect(try permits.take(Self.origin(0), timeSource: clock) == nil)
        for origin in origins { #expect(try permits.take(origin, timeSource: clock) != nil) }
        permits.giveBack(Self.origin(0))
        for origin in origins { permits.giveBack(origin) }
        let time = ThreadTime.now - start
        #expect(permits.heldCount == 0 && permits.waitingCount == 0)
        return time
    }

    @Test("Four times as many waiting calls to different origins take about four times as long")
    func linear() throws {
        // The best of some: what else the machine does comes on top.
        let few = try (0..<3).map { _ in try timeToServe(1000) }.min() ?? .zero
        let many = try (0..<3).map { _ in try timeToServe(4000) }.min() ?? .zero
        #expect(many < few * 9, "\(few) for 1000, \(many) for 4000")
    }
}
