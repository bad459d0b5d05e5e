// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

/// The states of an upgraded connection, without libcurl.
@Suite("The life of an upgraded connection over libcurl")
struct UpgradeStateMachineTests {
    typealias Event = UpgradeStateMachine.Event
    typealias State = UpgradeStateMachine.State
    typealias Actions = UpgradeStateMachine.Actions

    @Test(
        "It connects, sends and closes",
        arguments: [
            (false, State.finished, [.endSending]), (true, .closed, [.notify, .free, .leave]),
        ] as [(Bool, State, Actions)])
    func usual(isSecure: Bool, last: State, actions: Actions) {
        var life = UpgradeStateMachine(isSecure: isSecure)
        let steps: [(Event, State, Actions)] = [
            (.connected, .waiting, []), (.admitted, .connecting, .begin),
            (.threadPassed, .connecting, []), (.finishAsked, .connecting, []),
            (.connected, .open, .open), (.allSent, .open, []), (.finishAsked, .finishing, []),
            (.finishAsked, .finishing, []), (.allSent, last, actions),
        ]
        for (event, state, actions) in steps {
            #expect(life.handle(event) == actions, "\(event)")
            #expect(life.state == state, "\(event)")
        }
    }

    @Test("While it connects, the thread of the loop frees what has ended")
    func abandoned() {
        var life = UpgradeStateMachine(isSecure: false)
        _ = life.handle(.admitted)
        #expect(life.handle(.ended) == [.notify, .wake])
        #expect(life.handle(.connected) == [] && life.handle(.ended) == [])
        #expect(life.state == .abandoned)
        #expect(life.handle(.threadPassed) == [.free, .leave] && life.state == .closed)
    }

    @Test("Whatever the order of the events, it is told, freed and removed once")
    func randomOrders() {
        var random = SeededGenerator(seed: 7)
        var outcomes: Set<UInt8> = []
        for round in 0..<Runs.size(20_000, all: 100_000) {
            let isSecure = round % 2 == 0
            var life = UpgradeStateMachine(isSecure: isSecure)
            var (counts, seen): ([UInt8: Int], Actions) = ([:], [])
            var events: [Event] = []
            func step(_ event: Event) {
                let isOver = life.state == .closed
                let actions = life.handle(event)
                events.append(event)
                seen.formUnion(actions)
                for bit in 0..<UInt8(7) where actions.contains(Actions(rawValue: 1 << bit)) {
                    counts[bit, default: 0] += 1
                }
                if isOver { #expect(actions.isEmpty, "\(events)") }
                if actions.contains(.free) { #expect(event != .connected, "\(events)") }
            }
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                step(Event.allCases[Int.random(in: 0..<Event.allCases.count, using: &random)])
            }
            step(.ended)
            step(.threadPassed)
            let keeps =
                life.state == .closed && counts.values.allSatisfy { $0 == 1 }
                && seen.contains([.notify, .leave]) && seen.contains(.free) == seen.contains(.begin)
                && (!seen.contains(.open) || seen.contains(.begin))
                && (!seen.contains(.endSending) || (!isSecure && seen.contains(.open)))
            #expect(keeps, "\(events)")
            outcomes.insert(seen.rawValue)
        }
        // Closed while it waited, connected, was open, and after its side had ended.
        #expect(outcomes.count == 4)
    }
}
