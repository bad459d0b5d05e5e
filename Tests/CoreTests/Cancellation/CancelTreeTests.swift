// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("CancelTree")
struct CancelTreeTests {
    private struct Reason: Error { let number: Int }

    private static func reason(_ number: Int) -> CancelReason { .failed(Reason(number: number)) }

    /// A plain list of scopes and handlers, which does what the tree should do.
    private struct Model {
        var outer: [Int?] = [nil]
        var reasons: [Int?] = [nil]
        var handlers: [(id: Int, scope: Int)] = []

        func reason(of scope: Int) -> Int? { reasons[scope] ?? outer[scope].flatMap(reason) }

        func isInside(_ scope: Int, _ other: Int) -> Bool {
            scope == other || outer[scope].map { isInside($0, other) } == true
        }

        /// Returns what the handlers inside of the scope note, in the order of their registration.
        mutating func cancel(_ scope: Int, _ number: Int) -> [String] {
            if reason(of: scope) != nil { return [] }
            reasons[scope] = number
            let called = handlers.filter { isInside($0.scope, scope) }
            handlers.removeAll { handler in called.contains { $0.id == handler.id } }
            return called.map { "\($0.id): \(number)" }
        }
    }

    @Test(
        "Each handler is called once, with the first reason around it, in the order of registration",
        arguments: 0..<50)
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var model = Model()
        let notes = Notes()
        var scopes = [Context(timeSource: ManualClock())]
        let record = scopes[0].call.record
        var places: [(id: Int, place: CancelPlace)] = []
        var expected: [String] = []
        for step in 0..<300 {
            let scope = Int.random(in: scopes.indices, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<4:
                scopes.append(scopes[scope].child())
                model.outer.append(scope)
                model.reasons.append(nil)
            case 4..<14:
                let place = record.cancelTree.add(scopes[scope]) { reason in
                    notes.add("\(step): \((reason.error as? Reason)?.number ?? -1)")
                }
                #expect((place == nil) == (model.reason(of: scope) != nil))
                guard let place else { continue }
                places.append((step, place))
                model.handlers.append((step, scope))
            case 14..<18:
                // Perhaps one that was removed or called, whose place another one has taken.
                guard let (id, place) = places.randomElement(using: &random) else { continue }
                record.cancelTree.remove(place)
                model.handlers.removeAll { $0.id == id }
            case 18:
                record.cancelTree.removeAll(in: scopes[scope])
                model.handlers.removeAll { $0.scope == scope }
            default:
                // Not the outer ones, since a cancelled outermost one leaves nothing to do.
                if step < 290, scope < max(scopes.count / 2, 1) { continue }
                record.cancelTree.cancel(scopes[scope], Self.reason(step))
                expected += model.cancel(scope, step)
            }
            #expect(notes.all == expected)
            let reason = record.cancelTree.reason(of: scopes[scope])?.error as? Reason
            #expect(reason?.number == model.reason(of: scope))
        }
        record.cancelTree.cancel(scopes[0], Self.reason(300))
        expected += model.cancel(0, 300)
        #expect(notes.all == expected && !expected.isEmpty)
    }

    @Test("A call's tree hears of a cancellation around it until it is closed")
    func linked() {
        let outer = Context(timeSource: ManualClock())
        let inside = outer.child()
        let notes = Notes()
        let around = [inside, inside, inside, outer]
        let scopes = around.map {
            Context(call: CallState(id: $0.id, environment: $0.call.environment, parent: $0))
        }
        let records = scopes.map(\.call.record)
        for (number, record) in records.enumerated() {
            _ = record.cancelTree.add(scopes[number]) { _ in notes.add("\(number)") }
        }
        records[1].cancelTree.close()
        records[2].cancelTree.cancel(scopes[2], Self.reason(1))
        #expect(notes.all == ["2"])
        inside.cancel(Self.reason(2))
        #expect(notes.all == ["2", "0"])
        let reasons = records.indices.map {
            (records[$0].cancelTree.reason(of: scopes[$0])?.error as? Reason)?.number
        }
        #expect(reasons == [2, 2, 1, nil])
        #expect(records[0].cancelTree.add(scopes[0]) { _ in notes.add("late") } == nil)
    }
}
