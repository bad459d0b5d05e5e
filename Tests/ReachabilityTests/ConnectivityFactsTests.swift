// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore
import TurnpikeReachability

/// What the gate that waits for a connection states of itself.
@Suite struct ConnectivityFactsTests {
    private let monitor = PathMonitor(NetworkPath(interfaces: ["eth0"]))

    @Test func `it waits inside of a retry and outside of an attempt timeout`() {
        let facts = WaitForConnectivity(monitor, limit: .seconds(5)).facts(for: nil)
        #expect(
            facts?.effects == [.waits(atMost: .seconds(5), reason: "a network connection")])
        #expect(facts?.order.map(\.relation) == [.insideOfPresent, .outside])
        #expect(facts?.order.map(\.kind) == [.retry, .attemptTimeout])
        let first = WaitForConnectivity(monitor, includesFirstAttempt: true).facts(for: nil)
        #expect(first?.order.first?.relation == .inside)
    }

    @Test func `a request to this machine is passed over`() {
        let gate = WaitForConnectivity(monitor)
        #expect(gate.facts(for: Request(.get, "http://localhost/"))?.passedOver != nil)
        #expect(gate.facts(for: Request(.get, "http://a.test/"))?.passedOver == nil)
    }
}
