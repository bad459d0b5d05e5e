// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeCore

@testable import TurnpikeWebSocket

@Suite("The life of a WebSocket")
struct SocketStateMachineTests {
    typealias Event = SocketStateMachine.Event
    typealias Actions = SocketStateMachine.Actions
    typealias State = SocketStateMachine.State

    @Test("A closing handshake that the client begins, and one that the server begins")
    func handshakes() {
        var machine = SocketStateMachine()
        #expect(machine.handle(.closeAsked) == [.dropExcess, .startLimit, .sendClose])
        #expect(machine.handle(.closeWritten) == [] && machine.state == .closing)
        #expect(machine.handle(.peerClosed) == .endMessages && machine.state == .draining)
        #expect(machine.handle(.connectionEnded) == .closeConnection && machine.state == .ended)

        machine = SocketStateMachine()
        #expect(machine.handle(.peerClosed) == [.endMessages, .startLimit, .sendClose])
        #expect(machine.handle(.closeAsked) == [] && machine.state == .answering)
        #expect(machine.handle(.closeWritten) == [] && machine.state == .draining)
        #expect(machine.handle(.limitPassed) == .closeConnection && machine.state == .ended)
    }

    @Test(
        "In any order of events, the messages end once, one close is sent, and the end is the end")
    func randomOrders() {
        let ends: Set<Event> = [.connectionEnded, .limitPassed, .abandoned]
        for seed in 0..<Runs.size(20_000, all: 100_000) {
            var generator = SeededGenerator(seed: UInt64(seed))
            var machine = SocketStateMachine()
            var counts: [UInt8: Int] = [:]
            for _ in 0..<12 {
                let before = machine.state
                let event = Event.allCases[Int(generator.next() % UInt64(Event.allCases.count))]
                let actions = machine.handle(event)
                for bit in 0..<UInt8(5) where actions.contains(Actions(rawValue: 1 << bit)) {
                    counts[bit, default: 0] += 1
                }
                if before == .ended, !actions.isEmpty || machine.state != .ended {
                    Issue.record("seed \(seed): \(event) after the end")
                }
                if before != .open, ends.contains(event), machine.state != .ended {
                    Issue.record("seed \(seed): \(event) does not end \(before)")
                }
                // A limit is begun whenever the end depends on the peer.
                if machine.state != .open, machine.state != .ended, counts[2] != 1 {
                    Issue.record("seed \(seed): no limit in \(machine.state)")
                }
            }
            let areOnce = counts.values.allSatisfy { $0 == 1 }
            let isOver = machine.state == .ended
            if !areOnce || isOver && (counts[1] != 1 || counts[4] != 1) {
                Issue.record("seed \(seed): \(counts)")
            }
        }
    }
}
